/*
 * Faults of the machine, for one process and its children. The file that HOOKLINE_FAULTS names holds two numbers, which a test
 * changes while the process runs: an errno with which each write and sync of a journal fails, and by how many milliseconds
 * the clock is ahead.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile struct { int64_t error, ahead_ms; } *faults;

__attribute__((constructor)) static void attach(void) {
  const char *file = getenv("HOOKLINE_FAULTS");
  int fd = file ? open(file, O_RDONLY) : -1;
  if (fd < 0) return;
  void *shared = mmap(NULL, 16, PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  if (shared != MAP_FAILED) faults = shared;
}

static int fails(int fd) {
  if (!faults || faults->error == 0) return 0;
  char link[64], name[512];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, name, sizeof name - 1);
  if (length < 0) return 0;
  name[length] = 0;
  if (!strstr(name, "/journal.db")) return 0;
  errno = (int)faults->error;
  return 1;
}

#define REAL(name) static __typeof__(name) *real; if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t at) { REAL(pwrite); return fails(fd) ? -1 : real(fd, bytes, count, at); }
ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at) { REAL(pwrite64); return fails(fd) ? -1 : real(fd, bytes, count, at); }
int fsync(int fd) { REAL(fsync); return fails(fd) ? -1 : real(fd); }
int fdatasync(int fd) { REAL(fdatasync); return fails(fd) ? -1 : real(fd); }

int gettimeofday(struct timeval *now, void *zone) {
  static int (*real)(struct timeval *, void *);
  if (!real) real = (int (*)(struct timeval *, void *))dlsym(RTLD_NEXT, "gettimeofday");
  int result = real(now, zone);
  if (faults && result == 0) now->tv_sec += faults->ahead_ms / 1000;
  return result;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  REAL(clock_gettime);
  int result = real(clock, now);
  if (faults && result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += faults->ahead_ms / 1000;
  return result;
}
