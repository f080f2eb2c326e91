// <search.h>: tables by hash, which keep the program's keys and look at them again. Branches decide what is in them.
#include "model.h"
#include <search.h>

struct key {
    const char *text;
    const void *table;
};

static struct key *keys;
static size_t count, room;
// A search looks at all of them; with more it would take too long.
#define MOST 4096

static void keep(const char *text, const void *table) {
    for (size_t i = 0; i < count; i++)
        if (keys[i].text == text && keys[i].table == table) return;
    if (count == MOST) {
        __chg_lose_input();
        return;
    }
    if (count == room) {
        size_t larger = room == 0 ? 64 : 2 * room;
        struct key *more = realloc(keys, larger * sizeof *keys);
        if (more == NULL) {
            __chg_lose_input();
            return;
        }
        keys = more;
        room = larger;
    }
    keys[count++] = (struct key){text, table};
}

static void forget(const void *table) {
    size_t left = 0;
    for (size_t i = 0; i < count; i++)
        if (keys[i].table != table) keys[left++] = keys[i];
    count = left;
}

static ENTRY decide_entry(ENTRY item, const void *table) {
    item.key = (char *)decide((uintptr_t)item.key);
    item.data = (void *)decide((uintptr_t)item.data);
    decide_memory(item.key, strlen(item.key) + 1);
    for (size_t i = 0; i < count; i++)
        if (keys[i].table == table) decide_memory(keys[i].text, strlen(keys[i].text) + 1);
    return item;
}

ENTRY *__model_hsearch(ENTRY item, ACTION action) {
    item = decide_entry(item, NULL);
    ENTRY *found = hsearch(item, (ACTION)decide(action));
    if (found != NULL && found->key == item.key) keep(item.key, NULL);
    return found;
}

int __model_hsearch_r(ENTRY item, ACTION action, ENTRY **found, struct hsearch_data *table) {
    item = decide_entry(item, table);
    int result = hsearch_r(item, (ACTION)decide(action), found, table);
    __chg_clear(found, sizeof *found);
    if (result != 0 && (*found)->key == item.key) keep(item.key, table);
    return result;
}

void __model_hdestroy(void) {
    forget(NULL);
    hdestroy();
}

void __model_hdestroy_r(struct hsearch_data *table) {
    forget(table);
    hdestroy_r(table);
}
