/* Loaded into a redis-server by LD_PRELOAD. Stores the length of the append-only file at the start of the last completed
   flush: so much is on the disk. A power loss may take the bytes after it. */

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_length_file(void) {
    const char *path = getenv("OPORA_TEST_FLUSHES");
    return path ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;
}

/* An empty file says that the library is loaded and nothing is flushed. A file from before a restart stays. */
__attribute__((constructor)) static void begin(void) {
    int out = open_length_file();
    if (out >= 0) close(out);
}

static int is_append_only_file(int file) {
    static const char ending[] = ".incr.aof";
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path);
    ssize_t rest = length - (ssize_t)strlen(ending);
    return rest >= 0 && memcmp(path + rest, ending, strlen(ending)) == 0;
}

static int flush(long call, int file) {
    struct stat before;
    int is_ours = fstat(file, &before) == 0 && is_append_only_file(file);
    int answer = (int)syscall(call, file);
    if (answer == 0 && is_ours) {
        int64_t flushed = before.st_size;
        int out = open_length_file();
        if (out < 0 || pwrite(out, &flushed, sizeof flushed, 0) != sizeof flushed) abort();
        close(out);
    }
    return answer;
}

int fsync(int file) {
    return flush(SYS_fsync, file);
}

int fdatasync(int file) {
    return flush(SYS_fdatasync, file);
}
