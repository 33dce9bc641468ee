/* SPDX-License-Identifier: Apache-2.0 */
/* Names for the linker; nothing here is ever run. See README.md. */
void dladdr(void);
void dlerror(void);
void dlopen(void);
void dlsym(void);

void dladdr(void) {}
void dlerror(void) {}
void dlopen(void) {}
void dlsym(void) {}
