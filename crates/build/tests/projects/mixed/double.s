	.text
	.globl native_double
	.type native_double, @function
native_double:
	leal (%rdi,%rdi), %eax
	ret
	.size native_double, .-native_double
	.section .note.GNU-stack,"",@progbits
