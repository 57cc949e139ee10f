/// The header extension elements of a packet to be written. Elements without a negotiated id are not written.
package struct RTPExtensionValues: Hashable, Sendable {
    /// The MID (RFC 8843, section 15).
    package var mid: RTPStreamIdentifier?
    /// The RID (RFC 8852).
    package var rid: RTPStreamIdentifier?
    /// The RID of the stream that a retransmission repairs (RFC 8852).
    package var repairedRid: RTPStreamIdentifier?
    /// The transport-wide sequence number; a placeholder if ``RTPHeaderLayout`` overwrites it when the packet is sent.
    package var transportSequenceNumber: UInt16?
    /// The time at which the packet is sent; a placeholder if ``RTPHeaderLayout`` overwrites it when the packet is
    /// sent.
    package var absoluteSendTime: AbsoluteSendTime?
    /// The limits for the playout delay.
    package var playoutDelay: PlayoutDelay?
    /// The byte with camera, flip and rotation (3GPP TS 26.114, section 7.4.5).
    package var videoOrientation: UInt8?
    /// The audio level (RFC 6464).
    package var audioLevel: AudioLevel?
    /// The capture time (WebRTC's abs-capture-time).
    package var absoluteCaptureTime: AbsoluteCaptureTime?
    /// The offset of the sending time from the RTP timestamp in ticks, 24 bits (RFC 5450).
    package var transmissionOffset: Int32?

    /// Creates values without elements.
    package init() {}

    /// Returns the elements of a received packet that an SFU forwards unchanged: orientation, playout delay, audio
    /// level and capture time. The other elements are valid for one hop.
    package static func forwarded(
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

    /// Whether there is an element that an SFU forwards.
    var isForwarding: Bool {
        playoutDelay != nil || videoOrientation != nil || audioLevel != nil || absoluteCaptureTime != nil
    }

    /// Returns the size of an element's data in bytes; nil if there is none.
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

    /// Writes the data of an element for which ``size(of:)`` is not nil.
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

/// A MID or RID in a header extension: UTF-8 of up to 16 bytes (RFC 8843, RFC 8852).
package struct RTPStreamIdentifier: Hashable, Sendable {
    /// The maximum size in bytes, which the one-byte form allows.
    package static let maximumSize = 16

    /// The size in bytes.
    package let count: Int
    private let storage: SIMD16<UInt8>

    /// Creates an identifier from text. Returns nil if it is empty or longer than ``maximumSize`` bytes.
    package init?(_ text: String) {
        var text = text
        let identifier = text.withUTF8 { bytes in RTPStreamIdentifier(bytes: bytes.span) }
        guard let identifier else { return nil }
        self = identifier
    }

    /// Creates an identifier from bytes. Returns nil if it is empty or longer than ``maximumSize`` bytes.
    package init?(bytes: Span<UInt8>) {
        guard !bytes.isEmpty, bytes.count <= Self.maximumSize else { return nil }
        var storage = SIMD16<UInt8>(repeating: 0)
        for index in bytes.indices { storage[index] = bytes[index] }
        self.storage = storage
        count = bytes.count
    }

    /// Returns a byte; the index must be less than ``count``.
    package subscript(index: Int) -> UInt8 { storage[index] }

    /// The identifier as in SDP.
    package var text: String { String(decoding: (0..<count).map { storage[$0] }, as: UTF8.self) }
}
