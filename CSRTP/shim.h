#ifndef PCAST_CSRTP_SHIM_H
#define PCAST_CSRTP_SHIM_H

// libsrtp2, with which the tests compare the SRTP implementation; the product does not link it.
#include <srtp2/srtp.h>

// For mallinfo2(3), with which the tests measure the memory use of a viewer.
#include <malloc.h>

#endif
