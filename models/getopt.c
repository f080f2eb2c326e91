// <getopt.h>: options of the command line, with the permutation, the
// abbreviations and the messages of the C library. The variables that programs
// see are the library's own.
#include "output.h"
#include <getopt.h>

int __model_strcmp(const char *a, const char *b);
int __model_strncmp(const char *a, const char *b, size_t n);
char *__model_strchr(const char *s, int c);
int __model_fprintf(FILE *file, const char *format, ...);

enum ordering { PERMUTE, REQUIRE_ORDER, RETURN_IN_ORDER };

static struct {
    bool started;
    enum ordering ordering;
    // Rest of the word of short options that is being read; NULL if none is.
    char *rest;
    // Words that are not options and were passed over: argv[first .. last].
    int first;
    int last;
    // The last option that was in error: every call sets optopt to it.
    int unknown;
} state;

// What one call works with.
struct call {
    int argc;
    char **argv;
    const char *letters;
    const struct option *words;
    int *index;
    // getopt_long_only: one dash may begin a word, too.
    bool only;
    bool quiet;
};

// --- order of the words

static void reverse(char **argv, int from, int to) {
    for (to--; from < to; from++, to--) {
        char *word = argv[from];
        argv[from] = argv[to];
        argv[to] = word;
    }
}

// Puts the options read since then in front of the words passed over.
static void exchange(char **argv) {
    reverse(argv, state.first, state.last);
    reverse(argv, state.last, optind);
    reverse(argv, state.first, optind);
    state.first += optind - state.last;
    state.last = optind;
}

static void start(struct call *call, bool posixly_correct) {
    if (optind == 0) optind = 1;
    state.first = state.last = optind;
    state.rest = NULL;
    if (call->letters[0] == '-') {
        state.ordering = RETURN_IN_ORDER;
    } else if (call->letters[0] == '+' || posixly_correct || getenv("POSIXLY_CORRECT") != NULL) {
        state.ordering = REQUIRE_ORDER;
    } else {
        state.ordering = PERMUTE;
    }
    state.started = true;
}

// An option, or "-" alone, which is not one?
static bool is_option(const char *word) { return word[0] == '-' && word[1] != 0; }

// --- long options

static size_t name_length(const char *text) {
    size_t n = 0;
    while (!((text[n] == 0) | (text[n] == '='))) n++;
    return n;
}

static bool same_meaning(const struct option *a, const struct option *b) {
    return a->has_arg == b->has_arg && a->flag == b->flag && a->val == b->val;
}

static void complain_ambiguous(const struct call *call, const char *prefix, const bool *candidates) {
    __model_fprintf(stderr, "%s: option '%s%s' is ambiguous; possibilities:", call->argv[0], prefix, state.rest);
    for (int i = 0; call->words[i].name != NULL; i++)
        if (candidates[i]) __model_fprintf(stderr, " '%s%s'", prefix, call->words[i].name);
    __model_fprintf(stderr, "\n");
}

// The option that `state.rest` names or abbreviates: its index, -1 if there is
// none, -2 after complaining that there are several.
static int find_word(const struct call *call, const char *prefix, size_t length) {
    int count = 0;
    for (; call->words[count].name != NULL; count++)
        if (__model_strncmp(call->words[count].name, state.rest, length) == 0 && strlen(call->words[count].name) == length)
            return count;

    int found = -1;
    bool ambiguous = false;
    bool *candidates = calloc((size_t)count + 1, sizeof *candidates);
    if (candidates == NULL) abort();
    for (int i = 0; i < count; i++) {
        if (__model_strncmp(call->words[i].name, state.rest, length) != 0) continue;
        if (found < 0) {
            found = i;
            candidates[i] = true;
        } else if (call->only || !same_meaning(&call->words[found], &call->words[i])) {
            ambiguous = true;
            candidates[i] = true;
        }
    }
    if (ambiguous) {
        if (!call->quiet) complain_ambiguous(call, prefix, candidates);
        found = -2;
    }
    free(candidates);
    return found;
}

static int long_option(const struct call *call, const char *prefix) {
    size_t length = name_length(state.rest);
    int found = find_word(call, prefix, length);
    if (found == -2) {
        state.rest += strlen(state.rest);
        optind++;
        state.unknown = 0;
        return '?';
    }
    if (found == -1) {
        // One dash: perhaps these are short options.
        if (call->only && call->argv[optind][1] != '-' && __model_strchr(call->letters, *state.rest) != NULL) return -1;
        if (!call->quiet)
            __model_fprintf(stderr, "%s: unrecognized option '%s%s'\n", call->argv[0], prefix, state.rest);
        state.rest = NULL;
        optind++;
        state.unknown = 0;
        return '?';
    }

    const struct option *option = &call->words[found];
    char *end = state.rest + length;
    optind++;
    state.rest = NULL;
    if (*end != 0) {
        if (option->has_arg == no_argument) {
            if (!call->quiet)
                __model_fprintf(stderr, "%s: option '%s%s' doesn't allow an argument\n", call->argv[0], prefix, option->name);
            state.unknown = option->val;
            return '?';
        }
        optarg = end + 1;
    } else if (option->has_arg == required_argument) {
        if (optind >= call->argc) {
            if (!call->quiet)
                __model_fprintf(stderr, "%s: option '%s%s' requires an argument\n", call->argv[0], prefix, option->name);
            state.unknown = option->val;
            return call->letters[0] == ':' ? ':' : '?';
        }
        optarg = call->argv[optind++];
    }
    if (call->index != NULL) *call->index = found;
    if (option->flag != NULL) {
        *option->flag = option->val;
        return 0;
    }
    return option->val;
}

// --- short options

// Is it one of the letters that stand alone? One condition: which of them it is the program will ask, where it matters.
static unsigned stands_alone(const struct call *call, char c) {
    const char *letters = call->letters;
    unsigned is_one = 0;
    for (size_t i = 0; letters[i] != 0; i++) {
        bool word = letters[i] == 'W' && letters[i + 1] == ';' && call->words != NULL;
        bool alone = letters[i] != ':' && letters[i] != ';' && letters[i + 1] != ':' && !word;
        // What the first of equal letters says holds.
        if (alone && strchr(letters, letters[i]) == letters + i) is_one |= c == letters[i];
    }
    return is_one;
}

static int short_option(const struct call *call) {
    char c = *state.rest++;
    if (is_labelled((unsigned char)c) && !__chg_symbolic(call->letters, strlen(call->letters) + 1) && stands_alone(call, c)) {
        BRANCH;
        if (*state.rest == 0) optind++;
        return c;
    }
    // Where the description of the letter is.
    const char *letter = ((c == ':') | (c == ';')) ? NULL : __model_strchr(call->letters, c);
    if (*state.rest == 0) optind++;
    if (letter == NULL) {
        if (!call->quiet) __model_fprintf(stderr, "%s: invalid option -- '%c'\n", call->argv[0], c);
        state.unknown = c;
        return '?';
    }

    bool word = letter[0] == 'W' && letter[1] == ';' && call->words != NULL;
    bool takes = word || letter[1] == ':';
    bool optional = !word && takes && letter[2] == ':';
    if (!takes) return c;
    if (*state.rest != 0) {
        optarg = state.rest;
        // A long option counts its word itself.
        if (!word) optind++;
    } else if (optional) {
        optarg = NULL;
    } else if (optind == call->argc) {
        if (!call->quiet)
            __model_fprintf(stderr, "%s: option requires an argument -- '%c'\n", call->argv[0], c);
        state.unknown = c;
        return call->letters[0] == ':' ? ':' : '?';
    } else if (word) {
        optarg = call->argv[optind];
    } else {
        optarg = call->argv[optind++];
    }
    if (word) {
        state.rest = optarg;
        optarg = NULL;
        return long_option(call, "-W ");
    }
    state.rest = NULL;
    return c;
}

// --- one call

// Moves to the next word with an option. -1 at the end, 1 for a word that is
// returned as it is, 0 for an option.
static int next_word(const struct call *call) {
    char **argv = call->argv;
    // A program may have moved optind backwards.
    if (state.last > optind) state.last = optind;
    if (state.first > optind) state.first = optind;

    if (state.ordering == PERMUTE) {
        if (state.first != state.last && state.last != optind) exchange(argv);
        else if (state.last != optind) state.first = optind;
        while (optind < call->argc && !is_option(argv[optind])) optind++;
        state.last = optind;
    }
    // "--" ends the options; all that follows are words.
    if (optind != call->argc && argv[optind][0] == '-' && __model_strcmp(argv[optind], "--") == 0) {
        optind++;
        if (state.first != state.last && state.last != optind) exchange(argv);
        else if (state.first == state.last) state.first = optind;
        state.last = call->argc;
        optind = call->argc;
    }
    if (optind == call->argc) {
        // Back to the words passed over, so that the program finds them.
        if (state.first != state.last) optind = state.first;
        return -1;
    }
    if (!is_option(argv[optind])) {
        if (state.ordering == REQUIRE_ORDER) return -1;
        optarg = argv[optind++];
        return 1;
    }
    return 0;
}

// The word at optind as a long option; -1 if it is not to be read as one.
static int try_long(const struct call *call) {
    char *word = call->argv[optind];
    if (call->words == NULL) return -1;
    if (word[1] == '-') {
        state.rest = word + 2;
        return long_option(call, "--");
    }
    // With one dash, a letter alone that is a short option is just that.
    if (!call->only) return -1;
    if (word[2] == 0 && __model_strchr(call->letters, word[1]) != NULL) return -1;
    state.rest = word + 1;
    return long_option(call, "-");
}

static int parse_words(struct call *call, bool posixly_correct) {
    if (call->argc < 1) return -1;
    optarg = NULL;
    if (optind == 0 || !state.started) start(call, posixly_correct);
    if (call->letters[0] == '-' || call->letters[0] == '+') call->letters++;
    call->quiet = opterr == 0 || call->letters[0] == ':';

    if (state.rest == NULL || *state.rest == 0) {
        int found = next_word(call);
        if (found != 0) return found;
        int result = try_long(call);
        if (result != -1) return result;
        state.rest = call->argv[optind] + 1;
    }
    return short_option(call);
}

static int parse_options(struct call *call, bool posixly_correct) {
    int result = parse_words(call, posixly_correct);
    optopt = state.unknown;
    return result;
}

int __model_getopt(int argc, char *const *argv, const char *letters) {
    struct call call = {.argc = argc, .argv = (char **)argv, .letters = letters};
    return parse_options(&call, false);
}

// getopt of programs compiled for strict POSIX.
int __model___posix_getopt(int argc, char *const *argv, const char *letters) {
    struct call call = {.argc = argc, .argv = (char **)argv, .letters = letters};
    return parse_options(&call, true);
}

int __model_getopt_long(int argc, char *const *argv, const char *letters, const struct option *words, int *index) {
    struct call call = {.argc = argc, .argv = (char **)argv, .letters = letters, .words = words, .index = index};
    return parse_options(&call, false);
}

int __model_getopt_long_only(int argc, char *const *argv, const char *letters, const struct option *words, int *index) {
    struct call call = {
        .argc = argc, .argv = (char **)argv, .letters = letters, .words = words, .index = index, .only = true};
    return parse_options(&call, false);
}
