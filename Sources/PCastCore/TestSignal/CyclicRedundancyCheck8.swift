/// The CRC-8 of the test frame's time strip: polynomial 0x07, initial value 0, no reflection and no inversion.
package enum CyclicRedundancyCheck8 {
    /// Returns the checksum of the bytes.
    package static func checksum(_ bytes: some Sequence<UInt8>) -> UInt8 {
        var register: UInt8 = 0
        for byte in bytes {
            register ^= byte
            for _ in 0..<8 { register = register & 0x80 != 0 ? register &<< 1 ^ 0x07 : register &<< 1 }
        }
        return register
    }
}
