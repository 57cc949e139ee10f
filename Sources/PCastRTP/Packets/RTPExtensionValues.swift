public import PCastCore

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
        case .dependencyDescriptor: nil
        }
    }

    /// Writes the data of an element for which ``size(of:)`` is not nil.
    func write(_ extension: RTPHeaderExtension, into buffer: MutableByteView, at offset: Int) {
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
        case .dependencyDescriptor: break
        }
    }

    private static func write(
        _ identifier: RTPStreamIdentifier?, into buffer: MutableByteView, at offset: Int
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
        let identifier = RTPStreamIdentifier(bytes: text.utf8.span)
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

/// The capture time of a frame by the clock of its first sender (WebRTC's abs-capture-time header extension).
package struct AbsoluteCaptureTime: Hashable, Sendable {
    /// The capture time as a 64-bit NTP timestamp.
    package var ntpTimestamp: UInt64

    /// The offset from the capture clock to the clock of the sender of this hop, in 2^-32 seconds; nil if it is
    /// unknown. An SFU changes only this value.
    package var clockOffset: Int64?

    /// Creates a capture time.
    package init(ntpTimestamp: UInt64, clockOffset: Int64? = nil) {
        self.ntpTimestamp = ntpTimestamp
        self.clockOffset = clockOffset
    }
}

/// The audio level of a packet (RFC 6464).
package struct AudioLevel: Hashable, Sendable {
    /// The byte of the extension: voice activity in the top bit, and the level in the others.
    package let rawValue: UInt8

    /// Creates a level from the byte of the extension.
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Creates a level. `level` is in -dBov, 0 is the loudest, and is limited to 127.
    package init(level: UInt8, isVoice: Bool) {
        rawValue = min(level, 127) | (isVoice ? 0x80 : 0)
    }

    /// The level in -dBov: 0 is the loudest, and 127 is silence.
    package var level: UInt8 { rawValue & 0x7F }

    /// Whether the packet contains voice; meaningful only if `vad=on` was negotiated.
    package var isVoice: Bool { rawValue & 0x80 != 0 }
}

/// The send time of a packet in seconds modulo 64, with 18 bits of fraction (WebRTC's abs-send-time header extension).
public struct AbsoluteSendTime: Hashable, Sendable {
    /// The value, 24 bits.
    public var rawValue: UInt32

    /// Creates a send time from the low 24 bits of a value.
    @inlinable @inline(__always)
    public init(rawValue: UInt32) { self.rawValue = rawValue & 0xFF_FFFF }

    /// Creates a send time from a monotonic time. Only differences have a meaning, so any clock is suitable.
    @inlinable @inline(__always)
    public init(_ instant: Instant) { self.init(nanoseconds: instant.nanoseconds) }

    /// Creates a send time from a wall-clock time.
    package init(_ time: WallTime) { self.init(nanoseconds: time.nanosecondsSinceEpoch) }

    @usableFromInline
    init(nanoseconds: Int64) {
        let (seconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        let units = seconds &<< 18 &+ (rest << 18) / 1_000_000_000
        self.init(rawValue: UInt32(truncatingIfNeeded: units))
    }

    /// Returns the time from an earlier send time to this one, between -32 and 32 seconds.
    package func since(_ earlier: AbsoluteSendTime) -> TimeSpan {
        let difference = Int32(bitPattern: (rawValue &- earlier.rawValue) << 8) >> 8
        return .nanoseconds((Int64(difference) * 1_000_000_000) >> 18)
    }
}

/// A sender's limits for the playout delay of receivers (WebRTC's playout-delay header extension).
public struct PlayoutDelay: Hashable, Sendable {
    /// The value, 24 bits: minimum and maximum of 12 bits each, in units of 10 ms.
    public let rawValue: UInt32

    /// Creates limits from the low 24 bits of a value.
    public init(rawValue: UInt32) { self.rawValue = rawValue & 0xFF_FFFF }

    /// The maximum of both limits.
    public static let longest = TimeSpan.milliseconds(0xFFF * 10)

    /// Creates limits, which are rounded down to 10 ms and limited to values from 0 to 40.95 s.
    public init(minimum: TimeSpan, maximum: TimeSpan) {
        rawValue = Self.units(minimum) << 12 | Self.units(maximum)
    }

    /// The minimum playout delay.
    public var minimum: TimeSpan { .milliseconds(Int64(rawValue >> 12) * 10) }
    /// The maximum playout delay.
    public var maximum: TimeSpan { .milliseconds(Int64(rawValue & 0xFFF) * 10) }

    /// Returns a duration in units of 10 ms.
    private static func units(_ span: TimeSpan) -> UInt32 {
        UInt32(min(max(span.nanoseconds / 10_000_000, 0), 0xFFF))
    }
}
