import PCastFuzzing

/// Inputs that once broke a target, each with the cause.
enum Crashers {
    static let all: [(FuzzTarget, [UInt8])] = [
        // Signed digits were interpreted as a group, and as a port.
        (.ipAddress, Array("-0::1".utf8)), (.ipAddress, Array("127.0.0.1:-0".utf8)),
        // A time was NaN.
        (.signaling, [0, 0x12, 1, 0x31, 0x1A, 1, 0x78, 0x32, 8] + Array(repeating: 0xFF, count: 8)),
        // An extended report about a time before 1970 could not be distinguished from the present.
        (
            .rtcp,
            [
                0x80, 0xCF, 0, 5, 0, 0, 0, 1, 5, 0, 0, 3, 0, 0, 0, 2, 0x12, 0x34, 0x56, 0x78, 0, 1, 0, 0, 0, 0, 0, 0,
            ]
        ),
    ]
}
