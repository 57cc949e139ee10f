// An accelerometer like that of a tablet. It is a HID sensor (HID Usage Tables, page 0x20) made by uhid. The kernel's
// drivers hid-sensor-hub and hid-sensor-accel-3d make a device of the IIO subsystem of it.
//
//     accelerometer [X Y Z]     in thousandths of the acceleration of gravity; by default 0 0 -1000
//
// Every line "X Y Z" of standard input is a new reading: the value of in_accel_{x,y,z}_raw from then on, and an event
// in the device's buffer. It answers "ok". The device is removed when standard input ends. It needs the driver uhid.
#include <errno.h>
#include <fcntl.h>
#include <linux/input.h>
#include <linux/uhid.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REPORT 1

static const uint8_t descriptor[] = {
    0x05, 0x20,       // usage page: sensors
    0x09, 0x73,       // usage: motion, accelerometer 3D
    0xa1, 0x00,       // collection: physical
    0x85, REPORT,     //   report ID
    0x05, 0x20,       //   usage page: sensors
    0x15, 0x00,       //   logical minimum 0
    0x25, 0x05,       //   logical maximum 5
    0x75, 0x08,       //   report size 8
    0x95, 0x01,       //   report count 1
    0x0a, 0x16, 0x03, //   usage: property, reporting state
    0xa1, 0x02,       //   collection: logical
    0x0a, 0x40, 0x08, //     no events
    0x0a, 0x41, 0x08, //     all events
    0x0a, 0x42, 0x08, //     threshold events
    0x0a, 0x43, 0x08, //     no events, wake
    0x0a, 0x44, 0x08, //     all events, wake
    0x0a, 0x45, 0x08, //     threshold events, wake
    0xb1, 0x00,       //     feature: data, array
    0xc0,             //   end
    0x0a, 0x19, 0x03, //   usage: property, power state
    0xa1, 0x02,       //   collection: logical
    0x0a, 0x50, 0x08, //     undefined
    0x0a, 0x51, 0x08, //     D0, full power
    0x0a, 0x52, 0x08, //     D1, low power
    0x0a, 0x53, 0x08, //     D2, standby with wake
    0x0a, 0x54, 0x08, //     D3, sleep with wake
    0x0a, 0x55, 0x08, //     D4, off
    0xb1, 0x00,       //     feature: data, array
    0xc0,             //   end
    0x0a, 0x0e, 0x03, //   usage: property, report interval
    0x27, 0xff, 0xff, 0xff, 0x7f,
    0x75, 0x20,       //   report size 32
    0x55, 0x00,       //   unit exponent 0
    0xb1, 0x02,       //   feature: data, variable
    0x16, 0x00, 0x80, //   logical minimum -32768
    0x26, 0xff, 0x7f, //   logical maximum 32767
    0x75, 0x10,       //   report size 16
    0x55, 0x0d,       //   unit exponent -3, of the default unit, g
    0x0a, 0x53, 0x04, //   usage: data, acceleration X
    0x81, 0x02,       //   input: data, variable
    0x0a, 0x54, 0x04, //   Y
    0x81, 0x02,
    0x0a, 0x55, 0x04, //   Z
    0x81, 0x02,
    0xc0,             // end
};

struct __attribute__((packed)) input {
    uint8_t report;
    int16_t x, y, z;
};

struct __attribute__((packed)) feature {
    uint8_t report, reporting, power;
    uint32_t interval;
};

static int device;
static struct input reading = { REPORT, 0, 0, -1000 };
static struct feature properties = { REPORT, 0, 1, 100 };

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void tell(const struct uhid_event *event) {
    if (write(device, event, sizeof(*event)) < 0) fail("accelerometer: /dev/uhid");
}

static void create(void) {
    struct uhid_event event = { .type = UHID_CREATE2 };
    struct uhid_create2_req *request = &event.u.create2;
    strcpy((char *)request->name, "Test accelerometer");
    request->bus = BUS_I2C;
    request->vendor = 0x1d6b; // the Linux Foundation's, for virtual devices
    request->product = 0x0ac3;
    request->rd_size = sizeof(descriptor);
    memcpy(request->rd_data, descriptor, sizeof(descriptor));
    tell(&event);
}

static void send_reading(void) {
    struct uhid_event event = { .type = UHID_INPUT2 };
    event.u.input2.size = sizeof(reading);
    memcpy(event.u.input2.data, &reading, sizeof(reading));
    tell(&event);
}

static void answer(const struct uhid_event *asked) {
    struct uhid_event event = { .type = UHID_GET_REPORT_REPLY };
    struct uhid_get_report_reply_req *reply = &event.u.get_report_reply;
    if (asked->type == UHID_SET_REPORT) {
        event.type = UHID_SET_REPORT_REPLY;
        event.u.set_report_reply.id = asked->u.set_report.id;
        if (asked->u.set_report.rtype == UHID_FEATURE_REPORT && asked->u.set_report.size >= sizeof(properties)) {
            memcpy(&properties, asked->u.set_report.data, sizeof(properties));
        }
        tell(&event);
        return;
    }
    reply->id = asked->u.get_report.id;
    if (asked->u.get_report.rtype == UHID_FEATURE_REPORT) {
        reply->size = sizeof(properties);
        memcpy(reply->data, &properties, sizeof(properties));
    } else {
        reply->size = sizeof(reading);
        memcpy(reply->data, &reading, sizeof(reading));
    }
    tell(&event);
}

static void set(int x, int y, int z) {
    reading.x = x;
    reading.y = y;
    reading.z = z;
}

// Reads without a buffer, because poll does not see the buffer of stdio.
static int read_line(char *line, size_t size) {
    size_t length = 0;
    while (length + 1 < size) {
        ssize_t count = read(STDIN_FILENO, line + length, 1);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return 0;
        if (line[length] == '\n') break;
        length++;
    }
    line[length] = 0;
    return 1;
}

int main(int count, char **words) {
    if (count == 4) set(atoi(words[1]), atoi(words[2]), atoi(words[3]));
    device = open("/dev/uhid", O_RDWR | O_CLOEXEC);
    if (device < 0) fail("accelerometer: /dev/uhid");
    create();
    for (;;) {
        struct pollfd waits[2] = { { STDIN_FILENO, POLLIN, 0 }, { device, POLLIN, 0 } };
        if (poll(waits, 2, -1) < 0 && errno != EINTR) fail("accelerometer: poll");
        if (waits[1].revents) {
            struct uhid_event event;
            if (read(device, &event, sizeof(event)) < 0) fail("accelerometer: /dev/uhid");
            if (event.type == UHID_GET_REPORT || event.type == UHID_SET_REPORT) answer(&event);
        }
        if (waits[0].revents) {
            char line[80];
            int x, y, z;
            if (!read_line(line, sizeof(line))) return 0;
            if (sscanf(line, "%d %d %d", &x, &y, &z) != 3) {
                fprintf(stderr, "accelerometer: \"%s\" is no reading\n", line);
                continue;
            }
            set(x, y, z);
            send_reading();
            puts("ok");
            fflush(stdout);
        }
    }
}
