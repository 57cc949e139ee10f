#ifndef PCAST_CSRTP_SHIM_H
#define PCAST_CSRTP_SHIM_H

// libsrtp2 is the tests' second opinion; the product does not link it.
#include <srtp2/srtp.h>

// mallinfo2, by which the tests count what a viewer costs.
#include <malloc.h>

#endif
