// Declarations that Swift's Glibc module lacks, because it is built without _GNU_SOURCE, and macros that Swift does not
// import. This module consists of this header only and does not depend on the processor architecture.
#ifndef PCAST_CLINUX_SHIM_H
#define PCAST_CLINUX_SHIM_H

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

// MARK: Batches of datagrams

// struct mmsghdr under another name.
struct clinux_message {
    struct msghdr header;
    unsigned int length;
};

int clinux_sendmmsg(int socket, struct clinux_message *messages, unsigned int count, int flags) __asm__("sendmmsg");
int clinux_recvmmsg(
    int socket, struct clinux_message *messages, unsigned int count, int flags, struct timespec *timeout)
    __asm__("recvmmsg");

// From linux/udp.h and asm-generic/socket.h, which cannot be included together with glibc's headers.
enum {
    CLINUX_SOL_UDP = 17,
    CLINUX_UDP_SEGMENT = 103,
    CLINUX_UDP_GRO = 104,
#ifdef SO_RXQ_OVFL
    CLINUX_SO_RXQ_OVFL = SO_RXQ_OVFL,
#else
    CLINUX_SO_RXQ_OVFL = 40,
#endif
    CLINUX_TCP_NOTSENT_LOWAT = 25,
    CLINUX_IPV6_RECVPKTINFO = 49,
    CLINUX_IPV6_PKTINFO = 50,
#ifdef SO_ATTACH_REUSEPORT_CBPF
    CLINUX_SO_ATTACH_REUSEPORT_CBPF = SO_ATTACH_REUSEPORT_CBPF,
#else
    CLINUX_SO_ATTACH_REUSEPORT_CBPF = 51,
#endif
};

// struct in6_pktinfo (RFC 3542, section 6).
struct clinux_packet_info6 {
    struct in6_addr address;
    unsigned int interface_index;
};

// The maximum total size of the control messages that the functions below write for one datagram.
enum { CLINUX_CONTROL_SIZE = 128 };

static inline void clinux_put(uint8_t *control, int level, int type, const void *value, size_t size) {
    struct cmsghdr *header = (struct cmsghdr *)control;
    header->cmsg_level = level;
    header->cmsg_type = type;
    header->cmsg_len = CMSG_LEN(size);
    memcpy(CMSG_DATA(header), value, size);
}

// Each of these functions writes one control message to zeroed memory and returns its size with padding.

static inline size_t clinux_put_source4(uint8_t *control, uint32_t address_in_network_order) {
    struct in_pktinfo info;
    memset(&info, 0, sizeof info);
    info.ipi_spec_dst.s_addr = address_in_network_order;
    clinux_put(control, IPPROTO_IP, IP_PKTINFO, &info, sizeof info);
    return CMSG_SPACE(sizeof info);
}

static inline size_t clinux_put_source6(uint8_t *control, const uint8_t *address) {
    struct clinux_packet_info6 info;
    memset(&info, 0, sizeof info);
    memcpy(&info.address, address, 16);
    clinux_put(control, IPPROTO_IPV6, CLINUX_IPV6_PKTINFO, &info, sizeof info);
    return CMSG_SPACE(sizeof info);
}

static inline size_t clinux_put_segment_size(uint8_t *control, uint16_t size) {
    clinux_put(control, CLINUX_SOL_UDP, CLINUX_UDP_SEGMENT, &size, sizeof size);
    return CMSG_SPACE(sizeof size);
}

// The ancillary data of a received datagram.
struct clinux_arrival {
    uint8_t local[16];       // destination address in network order; the first four bytes for IPv4
    int32_t local_family;    // AF_INET, AF_INET6, or 0 if unknown
    uint32_t drops;          // SO_RXQ_OVFL: datagrams dropped by the socket since its creation
    int64_t realtime;        // SO_TIMESTAMPNS: nanoseconds of CLOCK_REALTIME, or 0
    int32_t segment_size;    // UDP_GRO: size of each datagram but the last, or 0 for a single datagram
};

static inline void clinux_read_arrival(struct msghdr *message, struct clinux_arrival *arrival) {
    memset(arrival, 0, sizeof *arrival);
    for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header; header = CMSG_NXTHDR(message, header)) {
        if (header->cmsg_level == IPPROTO_IP && header->cmsg_type == IP_PKTINFO) {
            struct in_pktinfo info;
            memcpy(&info, CMSG_DATA(header), sizeof info);
            memcpy(arrival->local, &info.ipi_addr, 4);
            arrival->local_family = AF_INET;
        } else if (header->cmsg_level == IPPROTO_IPV6 && header->cmsg_type == CLINUX_IPV6_PKTINFO) {
            memcpy(arrival->local, CMSG_DATA(header), 16);
            arrival->local_family = AF_INET6;
        } else if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == CLINUX_SO_RXQ_OVFL) {
            memcpy(&arrival->drops, CMSG_DATA(header), sizeof arrival->drops);
        } else if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SO_TIMESTAMPNS) {
            struct timespec time;
            memcpy(&time, CMSG_DATA(header), sizeof time);
            arrival->realtime = (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
        } else if (header->cmsg_level == CLINUX_SOL_UDP && header->cmsg_type == CLINUX_UDP_GRO) {
            memcpy(&arrival->segment_size, CMSG_DATA(header), sizeof arrival->segment_size);
        }
    }
}

// MARK: Readiness

// struct epoll_event is packed on some architectures only; this structure has the same layout on all.
struct clinux_event {
    uint64_t token;
    uint32_t events;
};

enum { CLINUX_EVENTS_PER_WAIT = 64 };

enum {
    CLINUX_READABLE = EPOLLIN,
    CLINUX_WRITABLE = EPOLLOUT,
    CLINUX_ONCE = EPOLLONESHOT,
    CLINUX_BROKEN = EPOLLERR | EPOLLHUP,
    CLINUX_ADD = EPOLL_CTL_ADD,
    CLINUX_CHANGE = EPOLL_CTL_MOD,
    CLINUX_REMOVE = EPOLL_CTL_DEL,
};

static inline int clinux_epoll_create(void) { return epoll_create1(EPOLL_CLOEXEC); }

static inline int clinux_epoll_control(int epoll, int operation, int descriptor, uint32_t events, uint64_t token) {
    struct epoll_event event;
    memset(&event, 0, sizeof event);
    event.events = events;
    event.data.u64 = token;
    return epoll_ctl(epoll, operation, descriptor, &event);
}

// Waits for events for at most `nanoseconds`, without limit if negative. Returns their number, or -1 and sets errno.
// Kernels before 5.11 lack epoll_pwait2 and some sandboxes forbid it; the time is then rounded up to milliseconds.
static inline int clinux_epoll_wait(int epoll, struct clinux_event *ready, int64_t nanoseconds) {
    struct epoll_event events[CLINUX_EVENTS_PER_WAIT];
    int count = -1;
    errno = ENOSYS;
#ifdef SYS_epoll_pwait2
    struct timespec timeout = {.tv_sec = nanoseconds / 1000000000, .tv_nsec = nanoseconds % 1000000000};
    count = (int)syscall(
        SYS_epoll_pwait2, epoll, events, CLINUX_EVENTS_PER_WAIT, nanoseconds < 0 ? NULL : &timeout, NULL, (size_t)0);
#endif
    if (count < 0 && (errno == ENOSYS || errno == EPERM)) {
        int64_t milliseconds = nanoseconds < 0 ? -1 : (nanoseconds + 999999) / 1000000;
        count = epoll_wait(
            epoll, events, CLINUX_EVENTS_PER_WAIT, milliseconds > INT32_MAX ? INT32_MAX : (int)milliseconds);
    }
    for (int index = 0; index < count; index++) {
        ready[index].token = events[index].data.u64;
        ready[index].events = events[index].events;
    }
    return count;
}

static inline int clinux_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

// MARK: Threads and sockets

int clinux_name_thread(pthread_t thread, const char *name) __asm__("pthread_setname_np");
int clinux_accept4(int socket, struct sockaddr *address, socklen_t *length, int flags) __asm__("accept4");

enum {
    CLINUX_SOCK_NONBLOCK = SOCK_NONBLOCK,
    CLINUX_SOCK_CLOEXEC = SOCK_CLOEXEC,
    CLINUX_SOCK_STREAM = SOCK_STREAM,
    CLINUX_SOCK_DGRAM = SOCK_DGRAM,
    CLINUX_SO_RCVBUFFORCE = SO_RCVBUFFORCE,
    CLINUX_SO_SNDBUFFORCE = SO_SNDBUFFORCE,
    CLINUX_SO_TIMESTAMPNS = SO_TIMESTAMPNS,
};

// MARK: Processes

int clinux_pipe2(int ends[2], int flags) __asm__("pipe2");
int clinux_spawn_close_from(posix_spawn_file_actions_t *actions, int lowest)
    __asm__("posix_spawn_file_actions_addclosefrom_np");
int clinux_spawn_change_folder(posix_spawn_file_actions_t *actions, const char *path)
    __asm__("posix_spawn_file_actions_addchdir_np");

enum { CLINUX_O_CLOEXEC = O_CLOEXEC };

// Starts a process without blocked or ignored signals, and with `is_apart` in a process group of its own. Returns 0 or
// an error number.
static inline int clinux_spawn(
    pid_t *process, const char *path, const posix_spawn_file_actions_t *actions, char *const arguments[],
    char *const environment[], int is_apart) {
    posix_spawnattr_t attributes;
    sigset_t none, all;
    int error = posix_spawnattr_init(&attributes);
    if (error) return error;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(
        &attributes, (is_apart ? POSIX_SPAWN_SETPGROUP : 0) | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    error = posix_spawn(process, path, actions, &attributes, arguments, environment);
    posix_spawnattr_destroy(&attributes);
    return error;
}

// MARK: Landlock

// From linux/landlock.h, which lacks some of these constants in older versions. The system call numbers are the same on
// all architectures.
enum {
    CLINUX_LANDLOCK_CREATE_RULESET = 444,
    CLINUX_LANDLOCK_ADD_RULE = 445,
    CLINUX_LANDLOCK_RESTRICT_SELF = 446,
    CLINUX_LANDLOCK_VERSION = 1,
    CLINUX_LANDLOCK_NET_PORT = 2,
    // The first version of the ABI with rules for TCP.
    CLINUX_LANDLOCK_TCP_VERSION = 4
};

// Returns the version of the Landlock ABI; 0 if the kernel does not support it.
static inline int clinux_landlock_version(void) {
    long version = syscall(CLINUX_LANDLOCK_CREATE_RULESET, NULL, (size_t)0, CLINUX_LANDLOCK_VERSION);
    return version > 0 ? (int)version : 0;
}

// Restricts the calling thread, and all threads and processes that it creates afterwards, to TCP connections to the
// given ports (landlock(7)). Returns 0 or an error number.
static inline int clinux_landlock_connect_only(const uint16_t *ports, int count) {
    const uint64_t connect_tcp = 2;
    struct { uint64_t files, net; } attributes = {0, connect_tcp};
    int rules = (int)syscall(CLINUX_LANDLOCK_CREATE_RULESET, &attributes, sizeof attributes, 0);
    if (rules < 0) return errno;
    int error = 0;
    for (int index = 0; index < count && !error; index++) {
        struct { uint64_t access, port; } rule = {connect_tcp, ports[index]};
        if (syscall(CLINUX_LANDLOCK_ADD_RULE, rules, CLINUX_LANDLOCK_NET_PORT, &rule, 0)) error = errno;
    }
    if (!error && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) error = errno;
    if (!error && syscall(CLINUX_LANDLOCK_RESTRICT_SELF, rules, 0)) error = errno;
    close(rules);
    return error;
}

// MARK: Network namespaces

int clinux_unshare(int flags) __asm__("unshare");

enum { CLINUX_CLONE_NEWNET = 0x40000000 };

// Moves the calling thread, and all threads and processes that it creates afterwards, to a new network namespace with
// only a loopback interface (network_namespaces(7)). Returns 0 or an error number; CAP_SYS_ADMIN is required.
static inline int clinux_isolate_network(void) {
    if (clinux_unshare(CLINUX_CLONE_NEWNET)) return errno;
    int control = socket(AF_INET, SOCK_DGRAM, 0);
    if (control < 0) return errno;
    struct ifreq request;
    memset(&request, 0, sizeof request);
    strcpy(request.ifr_name, "lo");
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    int error = ioctl(control, SIOCSIFFLAGS, &request) ? errno : 0;
    close(control);
    return error;
}

// MARK: Clock

// Returns 1 if the kernel's clock is synchronized (adjtimex(2)), 0 if it is not, and -1 if the kernel does not say.
static inline int clinux_clock_is_synchronized(void) {
    struct timex state = {.modes = 0};
    if (adjtimex(&state) < 0) return -1;
    return (state.status & STA_UNSYNC) == 0;
}

#endif
