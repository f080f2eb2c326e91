extern int nowhere(void);
int unused(void);
int unused(void) { return nowhere(); }
