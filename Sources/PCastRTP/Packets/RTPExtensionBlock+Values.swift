extension RTPExtensionBlock {
    /// Returns the range of an extension's data in the packet; nil if it is absent or its size is invalid.
    private func range(
        of extension: RTPHeaderExtension, size: ClosedRange<Int>, in packet: Span<UInt8>, by map: RTPHeaderExtensionMap
    ) -> Range<Int>? {
        guard length > 0, let id = map.id(of: `extension`), let range = find(id, in: packet),
            size.contains(range.count)
        else { return nil }
        return range
    }

    /// Returns the transport-wide sequence number (draft-holmer-rmcat-transport-wide-cc-extensions-01); nil if absent.
    package func transportSequenceNumber(in packet: Span<UInt8>, by map: RTPHeaderExtensionMap) -> UInt16? {
        range(of: .transportSequenceNumber, size: 2...2, in: packet, by: map)
            .map { packet.bigEndian16(at: $0.lowerBound) }
    }

    /// Returns the time at which the packet was sent (WebRTC's abs-send-time); nil if absent.
    package func absoluteSendTime(in packet: Span<UInt8>, by map: RTPHeaderExtensionMap) -> AbsoluteSendTime? {
        range(of: .absoluteSendTime, size: 3...3, in: packet, by: map)
            .map { AbsoluteSendTime(rawValue: packet.bigEndian24(at: $0.lowerBound)) }
    }

    /// Returns the sender's limits for the playout delay (WebRTC's playout-delay); nil if absent.
    package func playoutDelay(in packet: Span<UInt8>, by map: RTPHeaderExtensionMap) -> PlayoutDelay? {
        range(of: .playoutDelay, size: 3...3, in: packet, by: map)
            .map { PlayoutDelay(rawValue: packet.bigEndian24(at: $0.lowerBound)) }
    }

    /// Returns the byte with camera, flip and rotation (3GPP TS 26.114, section 7.4.5); nil if absent.
    package func videoOrientation(in packet: Span<UInt8>, by map: RTPHeaderExtensionMap) -> UInt8? {
        range(of: .videoOrientation, size: 1...1, in: packet, by: map).map { packet[$0.lowerBound] }
    }

    /// Returns the audio level (RFC 6464); nil if absent.
    package func audioLevel(in packet: Span<UInt8>, by map: RTPHeaderExtensionMap) -> AudioLevel? {
        range(of: .audioLevel, size: 1...1, in: packet, by: map).map { AudioLevel(rawValue: packet[$0.lowerBound]) }
    }

    /// Returns the capture time (WebRTC's abs-capture-time); nil if absent.
    package func absoluteCaptureTime(in packet: Span<UInt8>, by map: RTPHeaderExtensionMap) -> AbsoluteCaptureTime? {
        guard let range = range(of: .absoluteCaptureTime, size: 8...16, in: packet, by: map) else { return nil }
        var time = AbsoluteCaptureTime(ntpTimestamp: packet.bigEndian64(at: range.lowerBound))
        if range.count == 16 {
            time.clockOffset = Int64(bitPattern: packet.bigEndian64(at: range.lowerBound + 8))
        }
        return time
    }

    /// Returns the offset of the sending time from the RTP timestamp in ticks (RFC 5450); nil if absent.
    package func transmissionOffset(in packet: Span<UInt8>, by map: RTPHeaderExtensionMap) -> Int32? {
        range(of: .transmissionOffset, size: 3...3, in: packet, by: map)
            .map { Int32(bitPattern: packet.bigEndian24(at: $0.lowerBound) << 8) >> 8 }
    }

    /// Returns the range of the MID in the packet (RFC 8843, section 15); nil if absent.
    package func mid(in packet: Span<UInt8>, by map: RTPHeaderExtensionMap) -> Range<Int>? {
        range(of: .mid, size: 1...255, in: packet, by: map)
    }

    /// Returns the range of the RID in the packet (RFC 8852); nil if absent.
    package func rid(in packet: Span<UInt8>, by map: RTPHeaderExtensionMap) -> Range<Int>? {
        range(of: .rid, size: 1...255, in: packet, by: map)
    }

    /// Returns the range of the RID of the stream that a retransmission repairs (RFC 8852); nil if absent.
    package func repairedRid(in packet: Span<UInt8>, by map: RTPHeaderExtensionMap) -> Range<Int>? {
        range(of: .repairedRid, size: 1...255, in: packet, by: map)
    }
}
