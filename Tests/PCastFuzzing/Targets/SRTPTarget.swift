import PCastCore
import PCastWebRTC

/// Protected packets from an unauthenticated source, and from the peer with a modified byte. The first byte selects the
/// profile, and RTP or RTCP.
enum SRTPTarget {
    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        var input = FuzzInput(bytes)
        let choice = Int(input.byte())
        let profile = SRTPProfile.allCases[(choice & 0x7F) % SRTPProfile.allCases.count]
        let isRTCP = choice & 0x80 != 0
        let place = Int(input.integer(UInt16.self))
        let packet = Array(input.rest().prefix(1400))
        let (sender, receiver) = endpoints(profile)
        if case .ok = unprotect(packet, by: receiver, isRTCP) {
            throw BrokenInvariant(description: "a unknown source's packet is taken")
        }
        guard let protected = protect(packet, by: sender, isRTCP) else { return false }
        // The receiver first determines whether RTP is well-formed. What it accepts must equal what was sent.
        var changed = protected
        changed[place % changed.count] ^= 1 << UInt8(place >> 8 & 7)
        if case .ok = unprotect(changed, by: receiver, isRTCP) {
            throw BrokenInvariant(description: "a changed packet is taken")
        }
        guard case .ok(let length) = unprotect(protected, by: receiver, isRTCP) else { return false }
        try check(length == packet.count, "\(length) bytes of \(packet.count)")
        try check(unprotect(protected, by: receiver, isRTCP) == .replayed, "a packet is taken twice")
        return true
    }

    private static func endpoints(_ profile: SRTPProfile) -> (SRTPSender, SRTPReceiver) {
        let exported = (0..<profile.keyingMaterialLength).map { UInt8($0) }
        let client = SRTPKeyingMaterial(profile: profile, exported: exported, role: .client)!
        let server = SRTPKeyingMaterial(profile: profile, exported: exported, role: .server)!
        return (SRTPSender(client), SRTPReceiver(server))
    }

    private static func unprotect(_ packet: [UInt8], by receiver: SRTPReceiver, _ isRTCP: Bool) -> SRTPResult {
        var packet = packet
        return packet.withMutableByteView {
            isRTCP ? receiver.unprotectRTCP($0) : receiver.unprotectRTP($0)
        }
    }

    private static func protect(_ packet: [UInt8], by sender: SRTPSender, _ isRTCP: Bool) -> [UInt8]? {
        guard packet.count >= 12 else { return nil }
        let headerSize = 12 + 4 * Int(packet[0] & 0x0F)
        guard packet[0] & 0x10 == 0, headerSize <= packet.count else { return nil }
        var room = packet + [UInt8](repeating: 0, count: SRTPSender.maximumOverhead)
        let length = room.withMutableByteView {
            isRTCP
                ? sender.protectRTCP($0, length: packet.count)
                : sender.protectRTP($0, length: packet.count, headerSize: headerSize)
        }
        return length == 0 ? nil : Array(room[..<length])
    }

    private static let rtp = hexadecimal("8060 1234 decafbad cafebabe abababababababababababababababab")
    private static let rtcp = hexadecimal("80c80006 cafebabe e0000000 80000000 00001000 00000010 00001000")

    static let corpus: [[UInt8]] = (0..<UInt8(SRTPProfile.allCases.count)).flatMap { profile -> [[UInt8]] in
        [[profile, 3, 20] + rtp, [0x80 | profile, 1, 30] + rtcp]
    }
}
