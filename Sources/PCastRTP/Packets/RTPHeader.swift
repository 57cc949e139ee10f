package import PCastCore

/// The header of an RTP packet (RFC 3550, section 5.1).
package struct RTPHeader: Hashable, Sendable {
    /// The marker bit, which ends a video frame.
    package var marker: Bool
    /// The payload type from 0 to 127, but not from 64 to 95, which would be read as RTCP (RFC 5761, section 4).
    package var payloadType: UInt8
    /// The sequence number.
    package var sequenceNumber: UInt16
    /// The timestamp in ticks of the codec's clock rate.
    package var timestamp: UInt32
    /// The SSRC of the stream.
    package var ssrc: UInt32

    /// The size of everything before the payload in bytes: fixed header, contributing sources and extensions.
    package internal(set) var headerSize = Self.fixedSize

    /// The size of the padding in bytes, with the byte that contains it; 0 for none.
    package var paddingSize = 0

    /// The extensions; empty if there are none or they are malformed.
    package internal(set) var extensions = RTPExtensionBlock()

    /// Whether the extensions are malformed and are ignored.
    package internal(set) var hasMalformedExtensions = false

    /// The size of the header without contributing sources and extensions in bytes.
    package static let fixedSize = 12

    /// Creates a header without extensions.
    package init(
        marker: Bool = false, payloadType: UInt8, sequenceNumber: UInt16, timestamp: UInt32, ssrc: UInt32,
        paddingSize: Int = 0
    ) {
        self.marker = marker
        self.payloadType = payloadType
        self.sequenceNumber = sequenceNumber
        self.timestamp = timestamp
        self.ssrc = ssrc
        self.paddingSize = paddingSize
    }

    /// Returns whether a packet of version 2 is RTCP, according to its second byte (RFC 5761, section 4).
    package static func isRTCP(secondByte: UInt8) -> Bool { (192...223).contains(secondByte) }

    /// Returns the range of the payload in a packet of a size in bytes; empty for a packet that contains only padding.
    package func payloadRange(packetSize: Int) -> Range<Int> {
        headerSize..<max(headerSize, packetSize - paddingSize)
    }
}

extension RTPHeader {
    /// Parses an unencrypted packet. Returns nil if it is not RTP or its padding exceeds the packet.
    package static func parse(_ packet: Span<UInt8>) -> RTPHeader? {
        guard var header = parseProtected(packet) else { return nil }
        guard packet[0] & 0x20 != 0 else { return header }
        let padding = Int(packet[packet.count - 1])
        guard padding > 0, header.headerSize + padding <= packet.count else { return nil }
        header.paddingSize = padding
        return header
    }

    /// Parses an encrypted packet, whose padding is unknown. Returns nil if it is not RTP.
    package static func parseProtected(_ packet: Span<UInt8>) -> RTPHeader? {
        guard packet.count >= fixedSize, packet[0] >> 6 == 2 else { return nil }
        let headerSize = fixedSize + 4 * Int(packet[0] & 0x0F)
        guard headerSize <= packet.count, !isRTCP(secondByte: packet[1]) else { return nil }
        var header = RTPHeader(
            marker: packet[1] & 0x80 != 0, payloadType: packet[1] & 0x7F,
            sequenceNumber: packet.bigEndian16(at: 2), timestamp: packet.bigEndian32(at: 4),
            ssrc: packet.bigEndian32(at: 8))
        header.headerSize = headerSize
        if packet[0] & 0x10 != 0 { header.readExtensions(in: packet) }
        return header
    }

    /// Reads the extensions. If they exceed the packet, the whole packet is the header, so that it counts as received
    /// but has no payload.
    private mutating func readExtensions(in packet: Span<UInt8>) {
        let start = headerSize + 4
        guard start <= packet.count else { return rejectExtensions(headerSize: packet.count) }
        let length = 4 * Int(packet.bigEndian16(at: start - 2))
        guard start + length <= packet.count else { return rejectExtensions(headerSize: packet.count) }
        let block = RTPExtensionBlock(profile: packet.bigEndian16(at: start - 4), offset: start, length: length)
        guard block.isWellFormed(in: packet) else { return rejectExtensions(headerSize: start + length) }
        headerSize = start + length
        extensions = block
    }

    private mutating func rejectExtensions(headerSize: Int) {
        self.headerSize = headerSize
        hasMalformedExtensions = true
    }
}

extension RTPHeader {
    /// The maximum size of a header with all extensions but the dependency descriptor in bytes.
    package static let maximumWrittenSize = 128
    /// The size of the largest element with a one-byte header in bytes.
    private static let longestShortElement = 16

    /// Writes the header with the extensions that have a negotiated id, and returns its layout.
    ///
    /// The elements have one-byte headers, or two-byte headers if an id requires them and the peer supports them (RFC
    /// 8285, section 4.1.2).
    ///
    /// - Precondition: The buffer is large enough; ``maximumWrittenSize`` bytes always suffice.
    ///
    /// - Parameters:
    ///   - buffer: The buffer.
    ///   - values: The elements.
    ///   - map: The negotiated ids.
    /// - Returns: The layout of the header.
    package func write(
        into buffer: MutableByteView, extensions values: RTPExtensionValues, map: RTPHeaderExtensionMap
    ) -> RTPHeaderLayout {
        write(into: buffer, extensions: values, descriptor: nil, map: map)
    }

    /// Writes the header with the extensions that have a negotiated id, and returns its layout.
    ///
    /// - Parameters:
    ///   - buffer: The buffer.
    ///   - values: The elements.
    ///   - descriptor: The dependency descriptor, which is the last element; nil if there is none. It is left out if it
    ///     is too long, or needs the two-byte form and that is not supported.
    ///   - map: The negotiated ids.
    /// - Returns: The layout of the header.
    package func write(
        into buffer: MutableByteView, extensions values: RTPExtensionValues, descriptor: OutgoingDescriptor?,
        map: RTPHeaderExtensionMap
    ) -> RTPHeaderLayout {
        var layout = write(into: buffer)
        let descriptorID = descriptor == nil ? nil : map.id(of: .dependencyDescriptor)
        let descriptorSize = descriptorID == nil ? 0 : descriptor?.size ?? 0
        let needsTwoByte =
            Self.needsTwoByte(values, map) || descriptorSize > Self.longestShortElement || descriptorID ?? 0 > 14
        let twoByte = map.allowsTwoByte && needsTwoByte
        let start = layout.size + 4
        var cursor = start
        for rawValue in 0..<UInt8(RTPHeaderExtension.count) {
            guard let kind = RTPHeaderExtension(rawValue: rawValue), let id = map.id(of: kind),
                let size = values.size(of: kind), twoByte || id < 15
            else { continue }
            precondition(cursor + size + 5 <= buffer.count, "the buffer is too small for the header extensions")
            cursor = Self.writeElementHeader(id: id, size: size, twoByte: twoByte, into: buffer, at: cursor)
            values.write(kind, into: buffer, at: cursor)
            layout.note(kind, at: cursor)
            cursor += size
        }
        if let descriptor, let id = descriptorID, descriptorSize <= LoggedDescriptor.maximumSize,
            twoByte || id < 15 && descriptorSize <= Self.longestShortElement
        {
            precondition(cursor + descriptorSize + 5 <= buffer.count, "the buffer is too small for the descriptor")
            cursor = Self.writeElementHeader(id: id, size: descriptorSize, twoByte: twoByte, into: buffer, at: cursor)
            descriptor.write(into: buffer, at: cursor)
            layout.descriptor = cursor..<cursor + descriptorSize
            cursor += descriptorSize
        }
        guard cursor > start else { return layout }
        while (cursor - start) % 4 != 0 {
            buffer[cursor] = 0
            cursor += 1
        }
        buffer[0] |= 0x10
        buffer.storeBigEndian(UInt16(twoByte ? 0x1000 : 0xBEDE), at: layout.size)
        buffer.storeBigEndian(UInt16((cursor - start) / 4), at: layout.size + 2)
        layout.size = cursor
        return layout
    }

    /// Writes a header without extensions, and returns its layout.
    package func write(into buffer: MutableByteView) -> RTPHeaderLayout {
        precondition(buffer.count >= Self.fixedSize, "the buffer is too small for an RTP header")
        precondition(payloadType < 128, "a payload type must have seven bits")
        buffer[0] = 0x80 | (paddingSize > 0 ? 0x20 : 0)
        buffer[1] = (marker ? 0x80 : 0) | payloadType
        buffer.storeBigEndian(sequenceNumber, at: 2)
        buffer.storeBigEndian(timestamp, at: 4)
        buffer.storeBigEndian(ssrc, at: 8)
        return RTPHeaderLayout(size: Self.fixedSize)
    }

    /// Writes the header's padding at the end of the packet: zeros and the number of bytes (RFC 3550, section 5.1).
    package func writePadding(into buffer: MutableByteView, at offset: Int) {
        Self.writePadding(paddingSize, into: buffer, at: offset)
    }

    /// Writes padding of a size of less than 256 bytes; nothing if the size is 0.
    package static func writePadding(_ paddingSize: Int, into buffer: MutableByteView, at offset: Int) {
        guard paddingSize > 0 else { return }
        precondition(
            paddingSize < 256 && offset + paddingSize <= buffer.count, "the buffer is too small for the padding")
        for index in offset..<offset + paddingSize - 1 { buffer[index] = 0 }
        buffer[offset + paddingSize - 1] = UInt8(paddingSize)
    }

    /// Returns whether an element has an id above 14.
    private static func needsTwoByte(_ values: RTPExtensionValues, _ map: RTPHeaderExtensionMap) -> Bool {
        for rawValue in 0..<UInt8(RTPHeaderExtension.count) {
            guard let kind = RTPHeaderExtension(rawValue: rawValue), let id = map.id(of: kind) else { continue }
            if id > 14, values.size(of: kind) != nil { return true }
        }
        return false
    }

    /// Writes the header of an element, and returns the offset of its data.
    private static func writeElementHeader(
        id: UInt8, size: Int, twoByte: Bool, into buffer: MutableByteView, at offset: Int
    ) -> Int {
        guard twoByte else {
            buffer[offset] = id << 4 | UInt8(size - 1)
            return offset + 1
        }
        buffer[offset] = id
        buffer[offset + 1] = UInt8(size)
        return offset + 2
    }
}

extension RTPHeaderLayout {
    /// Stores the offset of an element that is overwritten when the packet is sent.
    fileprivate mutating func note(_ extension: RTPHeaderExtension, at offset: Int) {
        switch `extension` {
        case .transportSequenceNumber: transportSequenceNumberOffset = offset
        case .absoluteSendTime: absoluteSendTimeOffset = offset
        default: break
        }
    }
}

/// The layout of a written header, which is needed to overwrite elements when the packet is sent.
package struct RTPHeaderLayout: Hashable, Sendable {
    /// The size of the header, and so the offset of the payload, in bytes.
    package internal(set) var size: Int
    /// The offset of the transport-wide sequence number; nil if it is not sent.
    package internal(set) var transportSequenceNumberOffset: Int?
    /// The offset of the absolute send time; nil if it is not sent.
    package internal(set) var absoluteSendTimeOffset: Int?
    /// The range of the dependency descriptor; empty if it is not sent.
    var descriptor: Range<Int> = 0..<0

    /// Overwrites the transport-wide sequence number and the send time, as far as the packet contains them.
    package func stamp(
        transportSequenceNumber: UInt16, absoluteSendTime: AbsoluteSendTime,
        into packet: MutableByteView
    ) {
        if let offset = transportSequenceNumberOffset { packet.storeBigEndian(transportSequenceNumber, at: offset) }
        if let offset = absoluteSendTimeOffset { packet.storeBigEndian24(absoluteSendTime.rawValue, at: offset) }
    }
}

/// The RTP header extensions that PCast supports.
public enum RTPHeaderExtension: UInt8, Hashable, Sendable, CaseIterable {
    /// Extensions that identify or describe the packet.
    case mid, rid, repairedRid, transportSequenceNumber, absoluteSendTime, playoutDelay, videoOrientation, audioLevel
    /// Extensions about time.
    case absoluteCaptureTime, transmissionOffset
    /// The dependency descriptor, which an SFU reads and rewrites.
    case dependencyDescriptor

    /// The number of extensions; `allCases` would allocate an array for each packet.
    static let count = 11

    /// The URI in the SDP attribute `extmap` (RFC 8285, section 5).
    public var uri: String {
        switch self {
        case .mid: "urn:ietf:params:rtp-hdrext:sdes:mid"
        case .rid: "urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id"
        case .repairedRid: "urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id"
        case .transportSequenceNumber: "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01"
        case .absoluteSendTime: "http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time"
        case .playoutDelay: "http://www.webrtc.org/experiments/rtp-hdrext/playout-delay"
        case .videoOrientation: "urn:3gpp:video-orientation"
        case .audioLevel: "urn:ietf:params:rtp-hdrext:ssrc-audio-level"
        case .absoluteCaptureTime: "http://www.webrtc.org/experiments/rtp-hdrext/abs-capture-time"
        case .transmissionOffset: "urn:ietf:params:rtp-hdrext:toffset"
        case .dependencyDescriptor:
            "https://aomediacodec.github.io/av1-rtp-spec/#dependency-descriptor-rtp-header-extension"
        }
    }

    /// Finds the extension with a URI. Returns nil if PCast does not support it.
    public init?(uri: some StringProtocol) {
        guard let match = Self.allCases.first(where: { $0.uri == uri }) else { return nil }
        self = match
    }
}
