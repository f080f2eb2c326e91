#define NAME native_triple
	.text
	.globl NAME
	.type NAME, @function
NAME:
	leal (%rdi,%rdi,2), %eax
	ret
	.size NAME, .-NAME
	.section .note.GNU-stack,"",@progbits
