// Functions and constants of V4L2 that Swift does not import: request codes, which are function-like macros, and
// variadic functions of libv4l2. This module consists of this header only and does not depend on the processor
// architecture.
#ifndef PCAST_CV4L2_SHIM_H
#define PCAST_CV4L2_SHIM_H

#include <errno.h>
#include <fcntl.h>
#include <libv4l2.h>
#include <linux/videodev2.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

// MARK: Requests

static const unsigned long CV4L2_QUERYCAP = VIDIOC_QUERYCAP;
static const unsigned long CV4L2_ENUM_FMT = VIDIOC_ENUM_FMT;
static const unsigned long CV4L2_ENUM_FRAMESIZES = VIDIOC_ENUM_FRAMESIZES;
static const unsigned long CV4L2_ENUM_FRAMEINTERVALS = VIDIOC_ENUM_FRAMEINTERVALS;
static const unsigned long CV4L2_QUERY_EXT_CTRL = VIDIOC_QUERY_EXT_CTRL;
static const unsigned long CV4L2_G_CTRL = VIDIOC_G_CTRL;
static const unsigned long CV4L2_S_CTRL = VIDIOC_S_CTRL;

// Both functions return 0 or an error number and repeat a call that a signal interrupts.

// Sends the request to the driver directly.
static inline int cv4l2_ask_driver(int descriptor, unsigned long request, void *argument) {
    int result;
    do result = ioctl(descriptor, request, argument);
    while (result < 0 && errno == EINTR);
    return result < 0 ? errno : 0;
}

// Sends the request through libv4l2 and its plugins.
static inline int cv4l2_ask(int descriptor, unsigned long request, void *argument) {
    int result;
    do result = v4l2_ioctl(descriptor, request, argument);
    while (result < 0 && errno == EINTR);
    return result < 0 ? errno : 0;
}

// MARK: Constants that Debian 12's headers lack (linux/uvcvideo.h and videodev2.h of Linux 6.15)

enum {
    CV4L2_CID_REGION_OF_INTEREST_RECT = 0x00980900 + 0x11e0 + 1,
    CV4L2_CID_REGION_OF_INTEREST_AUTO = 0x00980900 + 0x11e0 + 2,
    CV4L2_REGION_OF_INTEREST_AUTO_FOCUS = 1 << 3,
    CV4L2_CTRL_TYPE_RECT = 0x0107,
    CV4L2_WHICH_MAXIMUM = 0x0f030000,
    CV4L2_WHICH_DEFAULT = V4L2_CTRL_WHICH_DEF_VAL,
    CV4L2_WHICH_CURRENT = V4L2_CTRL_WHICH_CUR_VAL,
};

// MARK: Values inside unions

// Reads a control that is a rectangle; `which` is one of CV4L2_WHICH_*. The control's type is not verified, because
// drivers of older kernels may use a type of their own for the same 16 bytes.
static inline int cv4l2_get_rectangle(int descriptor, uint32_t which, uint32_t id, struct v4l2_rect *rectangle) {
    struct v4l2_ext_control control;
    struct v4l2_ext_controls controls;
    memset(&control, 0, sizeof control);
    memset(&controls, 0, sizeof controls);
    memset(rectangle, 0, sizeof *rectangle);
    control.id = id;
    control.size = sizeof *rectangle;
    control.ptr = rectangle;
    controls.which = which;
    controls.count = 1;
    controls.controls = &control;
    return cv4l2_ask_driver(descriptor, VIDIOC_G_EXT_CTRLS, &controls);
}

static inline int cv4l2_set_rectangle(int descriptor, uint32_t id, struct v4l2_rect *rectangle) {
    struct v4l2_ext_control control;
    struct v4l2_ext_controls controls;
    memset(&control, 0, sizeof control);
    memset(&controls, 0, sizeof controls);
    control.id = id;
    control.size = sizeof *rectangle;
    control.ptr = rectangle;
    controls.which = V4L2_CTRL_WHICH_CUR_VAL;
    controls.count = 1;
    controls.controls = &control;
    return cv4l2_ask_driver(descriptor, VIDIOC_S_EXT_CTRLS, &controls);
}

// struct v4l2_querymenu is packed, and its name and value are members of a union.
struct cv4l2_menu_item {
    char name[32];
    int64_t value;
};

static inline int cv4l2_query_menu(int descriptor, uint32_t id, uint32_t index, struct cv4l2_menu_item *item) {
    struct v4l2_querymenu query;
    memset(&query, 0, sizeof query);
    query.id = id;
    query.index = index;
    int error = cv4l2_ask_driver(descriptor, VIDIOC_QUERYMENU, &query);
    memcpy(item->name, query.name, sizeof item->name);
    item->value = query.value;
    return error;
}

// MARK: Formats and buffers with one plane, for both the single-planar and the multi-planar API

struct cv4l2_format {
    uint32_t width, height, pixelformat, field, stride, size, colorspace, quantization, encoding, planes;
};

static inline uint32_t cv4l2_type(int is_multiplanar) {
    return is_multiplanar ? V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE : V4L2_BUF_TYPE_VIDEO_CAPTURE;
}

static inline void cv4l2_read_format(int is_multiplanar, const struct v4l2_format *from, struct cv4l2_format *format) {
    memset(format, 0, sizeof *format);
    if (is_multiplanar) {
        const struct v4l2_pix_format_mplane *picture = &from->fmt.pix_mp;
        format->width = picture->width;
        format->height = picture->height;
        format->pixelformat = picture->pixelformat;
        format->field = picture->field;
        format->stride = picture->plane_fmt[0].bytesperline;
        format->size = picture->plane_fmt[0].sizeimage;
        format->colorspace = picture->colorspace;
        format->quantization = picture->quantization;
        format->encoding = picture->ycbcr_enc;
        format->planes = picture->num_planes;
    } else {
        const struct v4l2_pix_format *picture = &from->fmt.pix;
        format->width = picture->width;
        format->height = picture->height;
        format->pixelformat = picture->pixelformat;
        format->field = picture->field;
        format->stride = picture->bytesperline;
        format->size = picture->sizeimage;
        format->colorspace = picture->colorspace;
        // These fields are valid only if the driver has set `priv` to the magic value.
        format->quantization = picture->priv == V4L2_PIX_FMT_PRIV_MAGIC ? picture->quantization : 0;
        format->encoding = picture->priv == V4L2_PIX_FMT_PRIV_MAGIC ? picture->ycbcr_enc : 0;
        format->planes = 1;
    }
}

static inline int cv4l2_get_format(int descriptor, int is_multiplanar, struct cv4l2_format *format) {
    struct v4l2_format answer;
    memset(&answer, 0, sizeof answer);
    answer.type = cv4l2_type(is_multiplanar);
    if (!is_multiplanar) answer.fmt.pix.priv = V4L2_PIX_FMT_PRIV_MAGIC;
    int error = cv4l2_ask(descriptor, VIDIOC_G_FMT, &answer);
    cv4l2_read_format(is_multiplanar, &answer, format);
    return error;
}

// Requests the size and pixel format of `format`, and replaces them by those that the driver has selected.
static inline int cv4l2_set_format(int descriptor, int is_multiplanar, struct cv4l2_format *format) {
    struct v4l2_format wish;
    memset(&wish, 0, sizeof wish);
    wish.type = cv4l2_type(is_multiplanar);
    if (is_multiplanar) {
        wish.fmt.pix_mp.width = format->width;
        wish.fmt.pix_mp.height = format->height;
        wish.fmt.pix_mp.pixelformat = format->pixelformat;
        wish.fmt.pix_mp.field = V4L2_FIELD_NONE;
        wish.fmt.pix_mp.num_planes = 1;
    } else {
        wish.fmt.pix.width = format->width;
        wish.fmt.pix.height = format->height;
        wish.fmt.pix.pixelformat = format->pixelformat;
        wish.fmt.pix.field = V4L2_FIELD_NONE;
        wish.fmt.pix.priv = V4L2_PIX_FMT_PRIV_MAGIC;
    }
    int error = cv4l2_ask(descriptor, VIDIOC_S_FMT, &wish);
    if (!error) cv4l2_read_format(is_multiplanar, &wish, format);
    return error;
}

// Reads the frame interval in seconds as a fraction. Returns EINVAL if the driver does not support it.
static inline int cv4l2_get_interval(
    int descriptor, int is_multiplanar, uint32_t *numerator, uint32_t *denominator, int *can_be_set) {
    struct v4l2_streamparm parameters;
    memset(&parameters, 0, sizeof parameters);
    parameters.type = cv4l2_type(is_multiplanar);
    int error = cv4l2_ask(descriptor, VIDIOC_G_PARM, &parameters);
    *numerator = parameters.parm.capture.timeperframe.numerator;
    *denominator = parameters.parm.capture.timeperframe.denominator;
    *can_be_set = (parameters.parm.capture.capability & V4L2_CAP_TIMEPERFRAME) != 0;
    return error;
}

static inline int cv4l2_set_interval(
    int descriptor, int is_multiplanar, uint32_t *numerator, uint32_t *denominator) {
    struct v4l2_streamparm parameters;
    memset(&parameters, 0, sizeof parameters);
    parameters.type = cv4l2_type(is_multiplanar);
    parameters.parm.capture.timeperframe.numerator = *numerator;
    parameters.parm.capture.timeperframe.denominator = *denominator;
    int error = cv4l2_ask(descriptor, VIDIOC_S_PARM, &parameters);
    if (!error) {
        *numerator = parameters.parm.capture.timeperframe.numerator;
        *denominator = parameters.parm.capture.timeperframe.denominator;
    }
    return error;
}

// Requests `*count` buffers of the driver, and sets it to the number allocated; 0 releases all buffers.
static inline int cv4l2_request_buffers(int descriptor, int is_multiplanar, uint32_t *count) {
    struct v4l2_requestbuffers request;
    memset(&request, 0, sizeof request);
    request.type = cv4l2_type(is_multiplanar);
    request.memory = V4L2_MEMORY_MMAP;
    request.count = *count;
    int error = cv4l2_ask(descriptor, VIDIOC_REQBUFS, &request);
    if (!error) *count = request.count;
    return error;
}

static inline void cv4l2_prepare(
    struct v4l2_buffer *buffer, struct v4l2_plane *planes, int is_multiplanar, uint32_t index) {
    memset(buffer, 0, sizeof *buffer);
    memset(planes, 0, VIDEO_MAX_PLANES * sizeof *planes);
    buffer->type = cv4l2_type(is_multiplanar);
    buffer->memory = V4L2_MEMORY_MMAP;
    buffer->index = index;
    if (is_multiplanar) {
        buffer->m.planes = planes;
        buffer->length = VIDEO_MAX_PLANES;
    }
}

// Maps a buffer into the address space. `*length` is 0 if that fails.
static inline int cv4l2_map(int descriptor, int is_multiplanar, uint32_t index, void **memory, size_t *length) {
    struct v4l2_buffer buffer;
    struct v4l2_plane planes[VIDEO_MAX_PLANES];
    cv4l2_prepare(&buffer, planes, is_multiplanar, index);
    *length = 0;
    int error = cv4l2_ask(descriptor, VIDIOC_QUERYBUF, &buffer);
    if (error) return error;
    size_t size = is_multiplanar ? planes[0].length : buffer.length;
    int64_t offset = is_multiplanar ? planes[0].m.mem_offset : buffer.m.offset;
    *memory = v4l2_mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, offset);
    if (*memory == MAP_FAILED) return errno;
    *length = size;
    return 0;
}

static inline int cv4l2_queue(int descriptor, int is_multiplanar, uint32_t index) {
    struct v4l2_buffer buffer;
    struct v4l2_plane planes[VIDEO_MAX_PLANES];
    cv4l2_prepare(&buffer, planes, is_multiplanar, index);
    return cv4l2_ask(descriptor, VIDIOC_QBUF, &buffer);
}

// The driver's description of a filled buffer.
struct cv4l2_frame {
    uint32_t index, offset, length, flags, sequence;
    int64_t nanoseconds;
};

static inline int cv4l2_dequeue(int descriptor, int is_multiplanar, struct cv4l2_frame *frame) {
    struct v4l2_buffer buffer;
    struct v4l2_plane planes[VIDEO_MAX_PLANES];
    cv4l2_prepare(&buffer, planes, is_multiplanar, 0);
    int error = cv4l2_ask(descriptor, VIDIOC_DQBUF, &buffer);
    if (error) return error;
    frame->index = buffer.index;
    frame->offset = is_multiplanar ? planes[0].data_offset : 0;
    frame->length = is_multiplanar ? planes[0].bytesused : buffer.bytesused;
    frame->flags = buffer.flags;
    frame->sequence = buffer.sequence;
    frame->nanoseconds = (int64_t)(
        (uint64_t)buffer.timestamp.tv_sec * 1000000000u + (uint64_t)buffer.timestamp.tv_usec * 1000u);
    return 0;
}

static inline int cv4l2_stream(int descriptor, int is_multiplanar, int is_on) {
    int type = (int)cv4l2_type(is_multiplanar);
    return cv4l2_ask(descriptor, is_on ? VIDIOC_STREAMON : VIDIOC_STREAMOFF, &type);
}

// MARK: Waking a thread

static inline int cv4l2_watch(void) { return inotify_init1(IN_CLOEXEC | IN_NONBLOCK); }

#endif
