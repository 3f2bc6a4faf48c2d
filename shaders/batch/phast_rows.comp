// Transposition of tiles into rows: writes the wanted distances of each search side by side.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 128;
layout(constant_id = 2) const uint SEARCHES = 32;  // of a tile, a power of two
const uint SIDE = 32;  // of a square in shared memory, through which both reads and writes are in order
layout(std430, binding = 0) readonly restrict buffer Distances { uint dist[]; };
layout(std430, binding = 1) readonly restrict buffer Wanted { uint wanted[]; };  // rows in a tile
layout(std430, binding = 2) writeonly restrict buffer Finished { uint finished[]; };

layout(push_constant) uniform Push {
    uint num_rows;
    uint num_searches;
    uint num_wanted;
    uint limit;
    uint first_row;  // where the row of the first search is written
};

shared uint square[SIDE][SIDE + 1];

void main() {
    uint across = (num_wanted + SIDE - 1) / SIDE, squares = across * ((num_searches + SIDE - 1) / SIDE);
    for (uint number = gl_WorkGroupID.x; number < squares; number += gl_NumWorkGroups.x) {
        uint first_wanted = number % across * SIDE, first_search = number / across * SIDE;
        barrier();
        for (uint i = gl_LocalInvocationIndex; i < SIDE * SIDE; i += WORKGROUP_SIZE) {
            uint search = first_search + i % SIDE, place = first_wanted + i / SIDE;
            if (search >= num_searches || place >= num_wanted) continue;
            uint distance = dist[(search / SEARCHES * num_rows + wanted[place]) * SEARCHES + search % SEARCHES];
            square[i / SIDE][i % SIDE] = distance > limit ? UNREACHABLE : distance;
        }
        barrier();
        for (uint i = gl_LocalInvocationIndex; i < SIDE * SIDE; i += WORKGROUP_SIZE) {
            uint search = first_search + i / SIDE, place = first_wanted + i % SIDE;
            if (search >= num_searches || place >= num_wanted) continue;
            finished[(first_row + search) * num_wanted + place] = square[i % SIDE][i / SIDE];
        }
    }
}
