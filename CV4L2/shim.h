#pragma once

#include <errno.h>
#include <fcntl.h>
#include <libv4l2.h>
#include <linux/videodev2.h>
#include <sys/ioctl.h>

// What Swift does not import: the request numbers are function-like macros, and libv4l2's calls are variadic.
