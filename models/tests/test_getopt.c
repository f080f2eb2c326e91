// getopt and its relatives on random command lines: results, variables, order
// of the arguments, messages.
#include "native.h"
#include <getopt.h>
#include <sys/mman.h>
#include <unistd.h>

int __posix_getopt(int, char *const *, const char *);
int __model_getopt(int, char *const *, const char *);
int __model_getopt_long(int, char *const *, const char *, const struct option *, int *);
int __model_getopt_long_only(int, char *const *, const char *, const struct option *, int *);
int __model___posix_getopt(int, char *const *, const char *);

#define MOST 8

static char *const words[] = {
    "-a", "-b", "-c", "-abc", "-bvalue", "-b", "-cvalue", "-ab", "-x", "-", "--", "file", "other", "-a-", "-:", "-;", "-W", "-Wall",
    "--all", "--al", "--alpha", "--alphabet", "--alp", "--beta", "--beta=5", "--bet=", "--gamma", "--gamma=x", "--gam", "--unknown",
    "--unknown=3", "--a", "--", "-alpha", "-al", "-beta", "-gamma=3", "-g", "--=", "-Walpha", "-W", "beta", "-1", "", "--flag", "-dd",
    "--twin", "--twi", "--all=no", "-W", "unknown", "-b", "--delta", "--d", "-abeta",
};
static const char *const letter_sets[] = {"ab:c::", "+ab:c::", "-ab:c::", ":ab:c::", "ab:c::W;", "+:ab:", "-:ab:c", "abcd", "", "a:b", "g:d"};

static int flag;
static const struct option long_options[] = {
    {"all", no_argument, NULL, 'A'},          {"alpha", no_argument, NULL, 1000},      {"alphabet", required_argument, NULL, 1001},
    {"beta", required_argument, NULL, 'b'},   {"gamma", optional_argument, NULL, 'g'}, {"flag", no_argument, &flag, 77},
    {"twin-a", no_argument, NULL, 5},         {"twin-b", no_argument, NULL, 5},        {"delta", required_argument, &flag, 3},
    {NULL, 0, NULL, 0},
};

// Everything that can be seen after a call.
struct step {
    int result, index, optind_, optopt_, flag_;
    const char *argument;
};

struct run {
    struct step steps[64];
    size_t count;
    char *argv[MOST + 2];
    char messages[2048];
    size_t messages_length;
};

enum function { GETOPT, POSIX, LONG, ONLY };

static void perform(struct run *run, int argc, char **argv, const char *letters, enum function function, bool model, int errors,
                    const int *restarts) {
    memset(run, 0, sizeof *run);
    memcpy(run->argv, argv, sizeof run->argv);
    FILE *captured = fdopen(memfd_create("messages", 0), "w+");
    int saved = dup(2);
    dup2(fileno(captured), 2);
    native_output_clear(2);
    optind = 0;
    opterr = errors;
    optopt = 99;
    flag = 0;
    bool moved = false;
    for (size_t i = 0; i < 40; i++) {
        int index = -7, result;
        char *const *arguments = run->argv;
        switch (function) {
        case GETOPT: result = model ? __model_getopt(argc, arguments, letters) : getopt(argc, arguments, letters); break;
        case POSIX: result = model ? __model___posix_getopt(argc, arguments, letters) : __posix_getopt(argc, arguments, letters); break;
        case LONG:
            result = model ? __model_getopt_long(argc, arguments, letters, long_options, &index)
                           : getopt_long(argc, arguments, letters, long_options, &index);
            break;
        default:
            result = model ? __model_getopt_long_only(argc, arguments, letters, long_options, &index)
                           : getopt_long_only(argc, arguments, letters, long_options, &index);
            break;
        }
        run->steps[run->count++] = (struct step){result, index, optind, optopt, flag, optarg};
        if (result == -1) break;
        // Programs move on by themselves now and then.
        if (restarts[i] && !moved && optind + 2 < argc) {
            moved = true;
            optind++;
        }
    }
    fflush(stderr);
    dup2(saved, 2);
    close(saved);
    run->messages_length = (size_t)pread(fileno(captured), run->messages, sizeof run->messages, 0);
    fclose(captured);
}

static void describe(char *to, int argc, char **argv) {
    to[0] = 0;
    for (int i = 1; i < argc; i++) {
        strcat(to, argv[i]);
        strcat(to, "|");
    }
}

static void command_line(void) {
    char *argv[MOST + 2] = {"program"};
    int argc = 1 + (int)below_random(MOST);
    for (int i = 1; i < argc; i++) argv[i] = words[below_random(sizeof words / sizeof *words)];
    argv[argc] = NULL;
    const char *letters = letter_sets[below_random(sizeof letter_sets / sizeof *letter_sets)];
    enum function function = (enum function)below_random(4);
    int errors = below_random(3) != 0;
    int restarts[40];
    for (size_t i = 0; i < 40; i++) restarts[i] = below_random(30) == 0;
    if (below_random(6) == 0) setenv("POSIXLY_CORRECT", "1", 1);
    else unsetenv("POSIXLY_CORRECT");

    static struct run real, model;
    char line[512];
    describe(line, argc, argv);
    perform(&real, argc, argv, letters, function, false, errors, restarts);
    perform(&model, argc, argv, letters, function, true, errors, restarts);
    for (size_t i = 0; i < real.count && i < model.count; i++) {
        struct step *a = &real.steps[i], *b = &model.steps[i];
        CHECK(a->result == b->result && a->index == b->index && a->optind_ == b->optind_ && a->optopt_ == b->optopt_ &&
                  a->argument == b->argument && a->flag_ == b->flag_,
              "call %zu of %d on '%s' with '%s': result %d (%d), index %d (%d), optind %d (%d), optopt %d (%d), argument '%s' ('%s')", i,
              function, line, letters, b->result, a->result, b->index, a->index, b->optind_, a->optind_, b->optopt_, a->optopt_,
              b->argument ? b->argument : "", a->argument ? a->argument : "");
    }
    CHECK(real.count == model.count, "%zu calls on '%s', not %zu", model.count, line, real.count);
    CHECK(memcmp(real.argv, model.argv, sizeof real.argv) == 0, "'%s' with '%s' ends in another order", line, letters);
    CHECK(real.messages_length == model.messages_length && memcmp(real.messages, model.messages, real.messages_length) == 0,
          "'%s' with '%s' says '%.*s', not '%.*s'", line, letters, (int)model.messages_length, model.messages, (int)real.messages_length,
          real.messages);
    size_t reported_length;
    const char *reported = native_output(2, &reported_length);
    CHECK(reported_length == real.messages_length && (reported_length == 0 || memcmp(reported, real.messages, reported_length) == 0),
          "'%s' reports '%.*s'", line, (int)reported_length, reported);
}

int main(int argc, char **argv) {
    (void)argc;
    int rounds = atoi(argv[1]) * 4;
    for (int m = CONCRETE; m <= RANDOM; m++) {
        native_mode((enum mode)m);
        for (int i = 0; i < rounds; i++) command_line();
    }
    printf("getopt: %zu checks\n", checks);
    return 0;
}
