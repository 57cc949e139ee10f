extension RTPExtensionBlock {
    /// Where the data of an extension lies in the packet, nil when absent or of another length than it must have.
    private func range(
        of extension: RTPHeaderExtension, size: ClosedRange<Int>, in packet: Span<UInt8>, by map: RTPHeaderExtensionMap
    ) -> Range<Int>? {
        guard length > 0, let id = map.id(of: `extension`), let range = find(id, in: packet),
            size.contains(range.count)
        else { return nil }
        return range
    }

    /// The number of the packet on its transport (draft-holmer-rmcat-transport-wide-cc-extensions-01).
    public func transportSequenceNumber(in packet: Span<UInt8>, by map: RTPHeaderExtensionMap) -> UInt16? {
        range(of: .transportSequenceNumber, size: 2...2, in: packet, by: map)
            .map { packet.bigEndian16(at: $0.lowerBound) }
    }

    public func absoluteSendTime(in packet: Span<UInt8>, by map: RTPHeaderExtensionMap) -> AbsoluteSendTime? {
        range(of: .absoluteSendTime, size: 3...3, in: packet, by: map)
            .map { AbsoluteSendTime(rawValue: packet.bigEndian24(at: $0.lowerBound)) }
    }

    public func playoutDelay(in packet: Span<UInt8>, by map: RTPHeaderExtensionMap) -> PlayoutDelay? {
        range(of: .playoutDelay, size: 3...3, in: packet, by: map)
            .map { PlayoutDelay(rawValue: packet.bigEndian24(at: $0.lowerBound)) }
    }

    /// The byte of 3GPP TS 26.114, section 7.4.5: camera, flip and rotation.
    public func videoOrientation(in packet: Span<UInt8>, by map: RTPHeaderExtensionMap) -> UInt8? {
        range(of: .videoOrientation, size: 1...1, in: packet, by: map).map { packet[$0.lowerBound] }
    }

    public func audioLevel(in packet: Span<UInt8>, by map: RTPHeaderExtensionMap) -> AudioLevel? {
        range(of: .audioLevel, size: 1...1, in: packet, by: map).map { AudioLevel(rawValue: packet[$0.lowerBound]) }
    }

    public func absoluteCaptureTime(in packet: Span<UInt8>, by map: RTPHeaderExtensionMap) -> AbsoluteCaptureTime? {
        guard let range = range(of: .absoluteCaptureTime, size: 8...16, in: packet, by: map) else { return nil }
        var time = AbsoluteCaptureTime(ntpTimestamp: packet.bigEndian64(at: range.lowerBound))
        if range.count == 16 {
            time.clockOffset = Int64(bitPattern: packet.bigEndian64(at: range.lowerBound + 8))
        }
        return time
    }

    /// How long after the time of its timestamp a packet left, in ticks (RFC 5450).
    public func transmissionOffset(in packet: Span<UInt8>, by map: RTPHeaderExtensionMap) -> Int32? {
        range(of: .transmissionOffset, size: 3...3, in: packet, by: map)
            .map { Int32(bitPattern: packet.bigEndian24(at: $0.lowerBound) << 8) >> 8 }
    }

    /// Where the media section's identifier lies in the packet (RFC 8843, section 15).
    public func mid(in packet: Span<UInt8>, by map: RTPHeaderExtensionMap) -> Range<Int>? {
        range(of: .mid, size: 1...255, in: packet, by: map)
    }

    /// Where the layer's identifier lies in the packet (RFC 8852).
    public func rid(in packet: Span<UInt8>, by map: RTPHeaderExtensionMap) -> Range<Int>? {
        range(of: .rid, size: 1...255, in: packet, by: map)
    }

    /// Where the identifier of the layer that a retransmission is for lies in the packet (RFC 8852).
    public func repairedRid(in packet: Span<UInt8>, by map: RTPHeaderExtensionMap) -> Range<Int>? {
        range(of: .repairedRid, size: 1...255, in: packet, by: map)
    }
}
