/* Makes a disk misbehave and a clock jump, for one process and on command.
 *
 * cc -shared -fPIC -O2 -o shim.so fault_shim.c -ldl
 * AIPM_FAULTS=FILE LD_PRELOAD=./shim.so program
 *
 * FILE is a struct orders, written by the test at any time (see tests/faulty_disk.py).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

enum { QUIET = 0, FAIL_WRITE = 1, SHORT_WRITE = 2, FAIL_SYNC = 3, FAIL_READ = 4 };

struct orders {
    volatile int kind;      /* what goes wrong */
    volatile int error;     /* the errno it goes wrong with */
    volatile int fired;     /* how often it went wrong */
    volatile int seconds;   /* how far the clock is off */
    char path[112];         /* in files whose path holds this */
};

static struct orders nothing;
static struct orders *orders = &nothing;

__attribute__((constructor)) static void attach(void) {
    const char *file = getenv("AIPM_FAULTS");
    int handle = file ? open(file, O_RDWR | O_CLOEXEC) : -1;
    if (handle < 0) return;
    void *mapped = mmap(NULL, sizeof(struct orders), PROT_READ | PROT_WRITE, MAP_SHARED, handle, 0);
    if (mapped != MAP_FAILED) orders = mapped;
    close(handle);
}

static int concerns(int handle, int kind) {
    char link[64], path[4096];
    if (orders->kind != kind) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", handle);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    if (!strstr(path, orders->path)) return 0;
    __atomic_add_fetch(&orders->fired, 1, __ATOMIC_SEQ_CST);
    return 1;
}

#define REAL(name) ((__typeof__(name) *)dlsym(RTLD_NEXT, #name))
#define FAIL do { errno = orders->error; return -1; } while (0)
#define HALF(size) ((size) > 1 ? (size) / 2 : (size))

ssize_t write(int handle, const void *data, size_t size) {
    static __typeof__(write) *real;
    if (!real) real = REAL(write);
    if (concerns(handle, FAIL_WRITE)) FAIL;
    return real(handle, data, concerns(handle, SHORT_WRITE) ? HALF(size) : size);
}

ssize_t pwrite(int handle, const void *data, size_t size, off_t where) {
    static __typeof__(pwrite) *real;
    if (!real) real = REAL(pwrite);
    if (concerns(handle, FAIL_WRITE)) FAIL;
    return real(handle, data, concerns(handle, SHORT_WRITE) ? HALF(size) : size, where);
}

ssize_t pwrite64(int handle, const void *data, size_t size, off64_t where) {
    static __typeof__(pwrite64) *real;
    if (!real) real = REAL(pwrite64);
    if (concerns(handle, FAIL_WRITE)) FAIL;
    return real(handle, data, concerns(handle, SHORT_WRITE) ? HALF(size) : size, where);
}

ssize_t pread(int handle, void *data, size_t size, off_t where) {
    static __typeof__(pread) *real;
    if (!real) real = REAL(pread);
    if (concerns(handle, FAIL_READ)) FAIL;
    return real(handle, data, size, where);
}

ssize_t pread64(int handle, void *data, size_t size, off64_t where) {
    static __typeof__(pread64) *real;
    if (!real) real = REAL(pread64);
    if (concerns(handle, FAIL_READ)) FAIL;
    return real(handle, data, size, where);
}

int fsync(int handle) {
    static __typeof__(fsync) *real;
    if (!real) real = REAL(fsync);
    if (concerns(handle, FAIL_SYNC)) FAIL;
    return real(handle);
}

int fdatasync(int handle) {
    static __typeof__(fdatasync) *real;
    if (!real) real = REAL(fdatasync);
    if (concerns(handle, FAIL_SYNC)) FAIL;
    return real(handle);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    static __typeof__(clock_gettime) *real;
    if (!real) real = REAL(clock_gettime);
    int result = real(clock, now);
    if (result == 0 && clock == CLOCK_REALTIME) now->tv_sec += orders->seconds;
    return result;
}
