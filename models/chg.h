// Interface between the models and the runtime of a traced program.
//
// Labels of arguments and results travel by themselves; none of these
// functions branches on a label.
#ifndef CHG_H
#define CHG_H

#include <stddef.h>
#include <stdint.h>

// Label of a value; 0 means concrete.
uint32_t __chg_label(uint64_t v);
// Does any byte of this memory carry a label?
int __chg_symbolic(const void *p, size_t n);

// Number of the symbolic stream behind a descriptor or a path, -1 if none.
int __chg_fd_stream(int fd);
int __chg_path_stream(const char *path);
// A file that is no stream is opened to be read: something may have been put there before.
void __chg_reads_file(void);
// The same, if the system shows some of the input in it.
void __chg_reads_system_file(const char *path);
// Any input may come back from here on in a way that nobody sees.
void __chg_lose_input(void);
// Memory became that of a file that is written to.
void __chg_maps_file(void);
// The descriptor now stands for the stream; -1: for none.
void __chg_fd_bind(int fd, int stream);

// Concrete number of bytes, with and without the label of the length.
uint64_t __chg_stream_length(int stream);
uint64_t __chg_concrete_length(int stream);

// Memory now holds the bytes `offset ..` of the stream.
void __chg_label_input(void *p, size_t n, int stream, uint64_t offset);
// Forget the labels of memory that a real function has just written.
void __chg_clear(const void *p, size_t n);
// This memory of code that is not traced is one object, and may be read through
// a symbolic index.
void __chg_object(const void *p, size_t n);
// Copy labels, not bytes.
void __chg_copy(void *dst, const void *src, size_t n);

// Bytes written to the descriptor's stream.
void __chg_output(int fd, const void *p, size_t n);
// A printed number: one event. `conversion` is canonical (see printf.c),
// `text` the bytes it was printed as.
void __chg_output_value(int fd, uint64_t value, int bits, const char *conversion,
                        const char *text, size_t n);
// This memory is the text of a number, as above, whose digits are `digits` bytes from `first` on, and `length` how long
// it is, as an expression. If it reaches the output as a whole it is one event there; 0 if it cannot be kept so.
int __chg_text(const char *p, size_t n, size_t first, size_t digits, uint64_t value, int bits, uint64_t length,
               const char *conversion);
// Where these bytes are depends on `position`, because a text is before them.
void __chg_text_moved(const void *p, size_t n, uint64_t position);
// Is `length` the number of these bytes for every length of the texts among them?
int __chg_text_covers(const void *p, size_t n, uint64_t length);
void __chg_observe(const char *name, uint64_t value);

// Numbers of `LossReason`.
enum {
    CHG_LOSS_EXTERNAL_CALL = 1,
    CHG_LOSS_EXTERNAL_MEMORY = 2,
    CHG_LOSS_FLOAT = 5,
    // Branches decide: nothing is lost.
    CHG_LOSS_SIZE = 7,
    CHG_LOSS_OVERWRITTEN = 9,
    CHG_LOSS_FORMATTED = 12,
};

// The value without its label; the loss is counted.
uint64_t __chg_lost(uint64_t v, int reason);
// Count the loss of the labels of memory that code outside will use.
void __chg_lost_memory(const void *p, size_t n, int reason);
// The same for all of the object, and of what pointers in it lead to.
void __chg_hand_over(const void *p);

#endif
