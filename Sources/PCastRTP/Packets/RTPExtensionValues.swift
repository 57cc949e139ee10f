/// The header extension elements of a packet to be written; those without an id at the peer are left out.
public struct RTPExtensionValues: Hashable, Sendable {
    public var mid: RTPStreamIdentifier?
    public var rid: RTPStreamIdentifier?
    public var repairedRid: RTPStreamIdentifier?
    /// May be a placeholder that `RTPHeaderLayout.stamp` overwrites when the packet leaves (CC1).
    public var transportSequenceNumber: UInt16?
    /// May be a placeholder that `RTPHeaderLayout.stamp` overwrites when the packet leaves (CC1).
    public var absoluteSendTime: AbsoluteSendTime?
    public var playoutDelay: PlayoutDelay?
    /// The byte of 3GPP TS 26.114, section 7.4.5.
    public var videoOrientation: UInt8?
    public var audioLevel: AudioLevel?
    public var absoluteCaptureTime: AbsoluteCaptureTime?
    /// In ticks of the RTP clock, 24 bits (RFC 5450).
    public var transmissionOffset: Int32?

    public init() {}

    /// The elements of a received packet that pass from hop to hop unchanged: orientation, playout delay, audio level
    /// and capture time. The others belong to one hop and are written anew (SW9).
    public static func forwarded(
        _ block: RTPExtensionBlock, in packet: Span<UInt8>, by map: RTPHeaderExtensionMap
    ) -> RTPExtensionValues {
        var values = RTPExtensionValues()
        guard block.length > 0 else { return values }
        values.playoutDelay = block.playoutDelay(in: packet, by: map)
        values.videoOrientation = block.videoOrientation(in: packet, by: map)
        values.audioLevel = block.audioLevel(in: packet, by: map)
        values.absoluteCaptureTime = block.absoluteCaptureTime(in: packet, by: map)
        return values
    }

    /// Whether there is anything that passes from hop to hop.
    var isForwarding: Bool {
        playoutDelay != nil || videoOrientation != nil || audioLevel != nil || absoluteCaptureTime != nil
    }

    /// Bytes of data of an element, nil when there is none.
    func size(of extension: RTPHeaderExtension) -> Int? {
        switch `extension` {
        case .mid: mid?.count
        case .rid: rid?.count
        case .repairedRid: repairedRid?.count
        case .transportSequenceNumber: transportSequenceNumber == nil ? nil : 2
        case .absoluteSendTime: absoluteSendTime == nil ? nil : 3
        case .playoutDelay: playoutDelay == nil ? nil : 3
        case .videoOrientation: videoOrientation == nil ? nil : 1
        case .audioLevel: audioLevel == nil ? nil : 1
        case .absoluteCaptureTime: absoluteCaptureTime.map { $0.clockOffset == nil ? 8 : 16 }
        case .transmissionOffset: transmissionOffset == nil ? nil : 3
        }
    }

    /// Writes the data of an element that `size(of:)` has answered for.
    func write(_ extension: RTPHeaderExtension, into buffer: UnsafeMutableRawBufferPointer, at offset: Int) {
        switch `extension` {
        case .mid: Self.write(mid, into: buffer, at: offset)
        case .rid: Self.write(rid, into: buffer, at: offset)
        case .repairedRid: Self.write(repairedRid, into: buffer, at: offset)
        case .transportSequenceNumber: buffer.storeBigEndian(transportSequenceNumber ?? 0, at: offset)
        case .absoluteSendTime: buffer.storeBigEndian24(absoluteSendTime?.rawValue ?? 0, at: offset)
        case .playoutDelay: buffer.storeBigEndian24(playoutDelay?.rawValue ?? 0, at: offset)
        case .videoOrientation: buffer[offset] = videoOrientation ?? 0
        case .audioLevel: buffer[offset] = audioLevel?.rawValue ?? 0
        case .absoluteCaptureTime:
            guard let absoluteCaptureTime else { return }
            buffer.storeBigEndian(absoluteCaptureTime.ntpTimestamp, at: offset)
            if let clockOffset = absoluteCaptureTime.clockOffset { buffer.storeBigEndian(clockOffset, at: offset + 8) }
        case .transmissionOffset:
            buffer.storeBigEndian24(UInt32(bitPattern: transmissionOffset ?? 0), at: offset)
        }
    }

    private static func write(
        _ identifier: RTPStreamIdentifier?, into buffer: UnsafeMutableRawBufferPointer, at offset: Int
    ) {
        guard let identifier else { return }
        for index in 0..<identifier.count { buffer[offset + index] = identifier[index] }
    }
}
