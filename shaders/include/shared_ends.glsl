// Pairs with an end in common. Pairs of a search are those of its first seed first; upward labels and tracks of the search
// from an end are those of the first pair with it. Needs the first pair of the search, and the number of the pair there.
#define FIRST_WITH_SEED(first_pair, number, num_targets) ((first_pair) + (number) - (number) % (num_targets))
#define FIRST_WITH_TARGET(first_pair, number, num_targets) ((first_pair) + (number) % (num_targets))
