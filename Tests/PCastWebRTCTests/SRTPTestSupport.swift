import PCastCore
import PCastTestSupport

@testable import PCastWebRTC

extension SeededGenerator {
    mutating func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8.random(in: 0...255, using: &self) } }
}

/// Returns the bytes of hexadecimal digits. Spaces between them are ignored.
func bytes(hex: String) -> [UInt8] {
    let digits = hex.compactMap(\.hexDigitValue)
    return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
}

extension SRTPKeyingMaterial {
    /// Returns both ends' view of the same random keys.
    static func pair(
        _ profile: SRTPProfile, seed: UInt64
    ) -> (client: SRTPKeyingMaterial, server: SRTPKeyingMaterial) {
        var generator = SeededGenerator(seed: seed)
        let exported = generator.bytes(profile.keyingMaterialLength)
        return (
            SRTPKeyingMaterial(profile: profile, exported: exported, role: .client)!,
            SRTPKeyingMaterial(profile: profile, exported: exported, role: .server)!
        )
    }
}

extension SRTPSender {
    /// Returns the protected packet; nil if it is rejected.
    func protect(rtp packet: [UInt8], headerSize: Int = 12) -> [UInt8]? {
        var buffer = packet + [UInt8](repeating: 0, count: Self.maximumOverhead)
        let length = buffer.withMutableByteView {
            protectRTP($0, length: packet.count, headerSize: headerSize)
        }
        return length == 0 ? nil : Array(buffer[..<length])
    }

    func protect(rtcp packet: [UInt8]) -> [UInt8]? {
        var buffer = packet + [UInt8](repeating: 0, count: Self.maximumOverhead)
        let length = buffer.withMutableByteView { protectRTCP($0, length: packet.count) }
        return length == 0 ? nil : Array(buffer[..<length])
    }
}

extension SRTPReceiver {
    /// Returns the plaintext; nil with the reason in `result` if it is rejected.
    func unprotect(rtp packet: [UInt8]) -> (result: SRTPResult, plaintext: [UInt8]) {
        var buffer = packet
        let result = buffer.withMutableByteView { unprotectRTP($0) }
        return (result, Self.plaintext(buffer, result))
    }

    func unprotect(rtcp packet: [UInt8]) -> (result: SRTPResult, plaintext: [UInt8]) {
        var buffer = packet
        let result = buffer.withMutableByteView { unprotectRTCP($0) }
        return (result, Self.plaintext(buffer, result))
    }

    private static func plaintext(_ buffer: [UInt8], _ result: SRTPResult) -> [UInt8] {
        guard case .ok(let length) = result else { return [] }
        return Array(buffer[..<length])
    }
}

/// Returns RTP of a payload type with a header of 12 bytes.
func rtpPacket(ssrc: UInt32, sequenceNumber: UInt16, payload: [UInt8]) -> [UInt8] {
    [0x80, 96, UInt8(sequenceNumber >> 8), UInt8(sequenceNumber & 0xFF), 0, 0, 0, 1]
        + withUnsafeBytes(of: ssrc.bigEndian, Array.init) + payload
}

/// Returns a receiver report's first eight bytes and `content`.
func rtcpPacket(ssrc: UInt32, content: [UInt8]) -> [UInt8] {
    [0x80, 201, 0, UInt8(content.count / 4 + 1)] + withUnsafeBytes(of: ssrc.bigEndian, Array.init) + content
}
