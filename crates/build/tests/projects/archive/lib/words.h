#ifndef WORDS_H
#define WORDS_H
int count_words(const char *text);
#endif
