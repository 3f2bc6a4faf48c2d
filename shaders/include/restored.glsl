// Beginning of perfect customization of a listed part: its weights are kept, and replaced by those of basic
// customization. Needs hierarchy.glsl, change.glsl, and weights by arc that may be written to. BASIC_BINDING is that of
// the weights of basic customization.
layout(std430, binding = BASIC_BINDING) readonly restrict buffer Basic { uvec2 basic[]; };
layout(std430, binding = 8) restrict buffer Before { uvec2 before[]; };

// Do so for every `lanes`-th arc of a part, from one on. `first` is where its arcs begin among those that are kept.
void restore_part(uint group, uint first, uint lane, uint lanes) {
    Supernode s = SUPERNODE(group);
    for (uint i = lane; i < arcs_of(s); i += lanes) {
        before[first + i] = WEIGHTS(s.first_arc + i);
        WEIGHTS(s.first_arc + i) = PAIR(basic, s.first_arc + i);
    }
}
