/* Sees the system calls that change files in one folder: records them, or kills the process before one of them.
 *
 * shim_record(folder, log): from now on every change is appended to the log.
 * shim_kill(folder, n, torn): the n-th change does not happen, as the process is killed; if torn, half of a write does.
 * shim_count(): number of changes since either was called.
 *
 * A record: kind, inode, offset, length of the name, length of the data (all 8 bytes, native order), name, data.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum { CREATE = 1, WRITE, TRUNCATE, SYNC, RENAME, UNLINK, SYNC_FOLDER };

static char folder[4096];
static int log_fd = -1;
static int64_t changes, kill_at = -1;
static int torn;

/* The function of the C library that ours stands in front of. */
#define REAL(name) \
    static __typeof__(&name) real_##name; \
    if (!real_##name) real_##name = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

static void write_all(int fd, const void* data, size_t n) {
    REAL(write);
    const char* at = data;
    while (n > 0) {
        ssize_t done = real_write(fd, at, n);
        if (done <= 0) abort();
        at += done;
        n -= (size_t)done;
    }
}

void shim_record(const char* where, const char* log) {
    changes = 0;
    kill_at = -1;
    strncpy(folder, where, sizeof folder - 1);
    int fd = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    /* Far from the numbers that the program uses and closes. */
    log_fd = fcntl(fd, F_DUPFD, 200);
    close(fd);
}

void shim_kill(const char* where, int64_t n, int half) {
    changes = 0;
    kill_at = n;
    torn = half;
    strncpy(folder, where, sizeof folder - 1);
}

int64_t shim_count(void) { return changes; }

/* The name below the folder, or NULL if the path is elsewhere. The folder itself has the name "". */
static const char* inside(const char* path) {
    size_t n = strlen(folder);
    if (!n || !path || strncmp(path, folder, n) != 0) return NULL;
    return path[n] == '/' ? path + n + 1 : path[n] == 0 ? path + n : NULL;
}

static const char* name_of(int fd, char* buffer, size_t size) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, buffer, size - 1);
    if (n < 0) return NULL;
    buffer[n] = 0;
    return inside(buffer);
}

static void record(int64_t kind, uint64_t inode, int64_t offset, const char* name, const void* data, size_t n) {
    if (log_fd < 0) return;
    int64_t head[5] = {kind, (int64_t)inode, offset, (int64_t)strlen(name), (int64_t)n};
    write_all(log_fd, head, sizeof head);
    write_all(log_fd, name, strlen(name));
    write_all(log_fd, data, n);
}

/* Counts a change; true if the process has to die now. */
static int fatal(void) { return ++changes == kill_at; }

static void die(void) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

static uint64_t inode_of(int fd) {
    struct stat found;
    return fstat(fd, &found) == 0 ? found.st_ino : 0;
}

ssize_t write(int fd, const void* data, size_t n) {
    REAL(write);
    char buffer[4096];
    int saved = errno;
    const char* name = *folder ? name_of(fd, buffer, sizeof buffer) : NULL;
    if (name) {
        if (fatal()) {
            if (torn) real_write(fd, data, n / 2);
            die();
        }
        int64_t offset = fcntl(fd, F_GETFL) & O_APPEND ? lseek64(fd, 0, SEEK_END) : lseek64(fd, 0, SEEK_CUR);
        record(WRITE, inode_of(fd), offset, name, data, n);
    }
    errno = saved;
    return real_write(fd, data, n);
}

ssize_t pwrite64(int fd, const void* data, size_t n, off64_t at) {
    REAL(pwrite64);
    char buffer[4096];
    int saved = errno;
    const char* name = *folder ? name_of(fd, buffer, sizeof buffer) : NULL;
    if (name) {
        if (fatal()) {
            if (torn) real_pwrite64(fd, data, n / 2, at);
            die();
        }
        record(WRITE, inode_of(fd), at, name, data, n);
    }
    errno = saved;
    return real_pwrite64(fd, data, n, at);
}
ssize_t pwrite(int fd, const void* data, size_t n, off_t at) { return pwrite64(fd, data, n, at); }

int ftruncate64(int fd, off64_t length) {
    REAL(ftruncate64);
    char buffer[4096];
    const char* name = *folder ? name_of(fd, buffer, sizeof buffer) : NULL;
    if (name) {
        if (fatal()) die();
        record(TRUNCATE, inode_of(fd), length, name, "", 0);
    }
    return real_ftruncate64(fd, length);
}
int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }

/* The content of a file at its sync: libraries that buffer by themselves write where we do not see it. */
static void record_sync(int fd, const char* name) {
    struct stat found;
    if (fstat(fd, &found) != 0) return;
    if (S_ISDIR(found.st_mode)) {
        record(SYNC_FOLDER, found.st_ino, 0, name, "", 0);
        return;
    }
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    int reading = open(link, O_RDONLY);
    char* data = malloc((size_t)found.st_size + 1);
    ssize_t n = reading < 0 || !data ? -1 : pread(reading, data, (size_t)found.st_size, 0);
    if (n >= 0) record(SYNC, found.st_ino, 0, name, data, (size_t)n);
    free(data);
    if (reading >= 0) close(reading);
}

static int synced(int fd, int (*real)(int)) {
    char buffer[4096];
    const char* name = *folder ? name_of(fd, buffer, sizeof buffer) : NULL;
    if (name && fatal()) die();
    int result = real(fd);
    if (name && result == 0 && log_fd >= 0) record_sync(fd, name);
    return result;
}

int fsync(int fd) {
    REAL(fsync);
    return synced(fd, real_fsync);
}

int fdatasync(int fd) {
    REAL(fdatasync);
    return synced(fd, real_fdatasync);
}

static int opened(int fd, const char* name, int existed, int flags) {
    if (fd < 0 || !name) return fd;
    if (!existed) record(CREATE, inode_of(fd), 0, name, "", 0);
    else if (flags & O_TRUNC) record(TRUNCATE, inode_of(fd), 0, name, "", 0);
    return fd;
}

#define OPEN(function) \
    int function(const char* path, int flags, ...) { \
        REAL(function); \
        va_list more; \
        va_start(more, flags); \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0; \
        va_end(more); \
        const char* name = *folder && flags & (O_CREAT | O_TRUNC) ? inside(path) : NULL; \
        int existed = name && access(path, F_OK) == 0; \
        if (name && (!existed || flags & O_TRUNC) && fatal()) die(); \
        return opened(real_##function(path, flags, mode), name, existed, flags); \
    }
OPEN(open)
OPEN(open64)

int rename(const char* from, const char* to) {
    REAL(rename);
    const char* name = *folder ? inside(from) : NULL;
    const char* target = *folder ? inside(to) : NULL;
    if (name && target) {
        if (fatal()) die();
        struct stat found;
        uint64_t inode = stat(from, &found) == 0 ? found.st_ino : 0;
        record(RENAME, inode, 0, name, target, strlen(target));
    }
    return real_rename(from, to);
}

int unlink(const char* path) {
    REAL(unlink);
    const char* name = *folder ? inside(path) : NULL;
    if (name && access(path, F_OK) == 0) {
        if (fatal()) die();
        record(UNLINK, 0, 0, name, "", 0);
    }
    return real_unlink(path);
}
