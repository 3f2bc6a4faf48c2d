// Rows of labels, see vkssp/hierarchy/labels.py and vkssp/cch/labels.py: for each node its distances to all ancestors
// (upward) and from them (downward), from the root on. Each direction has MOST_PARTS buffers, since all rows together
// may be larger than one binding; with fewer parts the first buffer stands for the others. Needs LABEL, the type of an
// element, and LABELS_BINDING, the first of the bindings.

#include "label_record.glsl"

layout(constant_id = 6) const uint NUM_PARTS = 1;

#ifndef LABEL_ACCESS
#define LABEL_ACCESS
#endif
layout(std430, binding = LABELS_BINDING) LABEL_ACCESS buffer Upward0 { LABEL upward0[]; };
layout(std430, binding = LABELS_BINDING + 1) LABEL_ACCESS buffer Upward1 { LABEL upward1[]; };
layout(std430, binding = LABELS_BINDING + 2) LABEL_ACCESS buffer Upward2 { LABEL upward2[]; };
layout(std430, binding = LABELS_BINDING + 3) LABEL_ACCESS buffer Upward3 { LABEL upward3[]; };
layout(std430, binding = LABELS_BINDING + 4) LABEL_ACCESS buffer Upward4 { LABEL upward4[]; };
layout(std430, binding = LABELS_BINDING + 5) LABEL_ACCESS buffer Upward5 { LABEL upward5[]; };
layout(std430, binding = LABELS_BINDING + 6) LABEL_ACCESS buffer Upward6 { LABEL upward6[]; };
layout(std430, binding = LABELS_BINDING + 7) LABEL_ACCESS buffer Upward7 { LABEL upward7[]; };
layout(std430, binding = LABELS_BINDING + 8) LABEL_ACCESS buffer Downward0 { LABEL downward0[]; };
layout(std430, binding = LABELS_BINDING + 9) LABEL_ACCESS buffer Downward1 { LABEL downward1[]; };
layout(std430, binding = LABELS_BINDING + 10) LABEL_ACCESS buffer Downward2 { LABEL downward2[]; };
layout(std430, binding = LABELS_BINDING + 11) LABEL_ACCESS buffer Downward3 { LABEL downward3[]; };
layout(std430, binding = LABELS_BINDING + 12) LABEL_ACCESS buffer Downward4 { LABEL downward4[]; };
layout(std430, binding = LABELS_BINDING + 13) LABEL_ACCESS buffer Downward5 { LABEL downward5[]; };
layout(std430, binding = LABELS_BINDING + 14) LABEL_ACCESS buffer Downward6 { LABEL downward6[]; };
layout(std430, binding = LABELS_BINDING + 15) LABEL_ACCESS buffer Downward7 { LABEL downward7[]; };

LABEL upward_at(uint part, uint at) {
    if (NUM_PARTS == 1 || part == 0) return upward0[at];
    if (NUM_PARTS == 2 || part == 1) return upward1[at];
    if (NUM_PARTS == 3 || part == 2) return upward2[at];
    if (NUM_PARTS == 4 || part == 3) return upward3[at];
    if (NUM_PARTS == 5 || part == 4) return upward4[at];
    if (NUM_PARTS == 6 || part == 5) return upward5[at];
    if (NUM_PARTS == 7 || part == 6) return upward6[at];
    return upward7[at];
}

LABEL downward_at(uint part, uint at) {
    if (NUM_PARTS == 1 || part == 0) return downward0[at];
    if (NUM_PARTS == 2 || part == 1) return downward1[at];
    if (NUM_PARTS == 3 || part == 2) return downward2[at];
    if (NUM_PARTS == 4 || part == 3) return downward3[at];
    if (NUM_PARTS == 5 || part == 4) return downward4[at];
    if (NUM_PARTS == 6 || part == 5) return downward5[at];
    if (NUM_PARTS == 7 || part == 6) return downward6[at];
    return downward7[at];
}
