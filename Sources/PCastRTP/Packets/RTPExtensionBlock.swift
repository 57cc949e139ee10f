/// The position and the form of the header extension elements in a packet (RFC 8285, section 4).
package struct RTPExtensionBlock: Hashable, Sendable {
    /// The form of the elements' headers.
    package enum Form: UInt8, Sendable {
        /// Id and length have four bits each: ids from 1 to 14, and 1 to 16 bytes.
        case oneByte
        /// Id and length have a byte each: ids from 1 to 255, and 0 to 255 bytes.
        case twoByte
        /// Another profile, whose content is unknown.
        case other

        /// Determines the form from the profile of the extension block.
        init(profile: UInt16) {
            switch profile {
            case 0xBEDE: self = .oneByte
            case 0x1000...0x100F: self = .twoByte
            default: self = .other
            }
        }
    }

    /// An element of the block.
    package struct Element: Hashable, Sendable {
        /// The negotiated id.
        package var id: UInt8
        /// The range of the data in the packet.
        package var range: Range<Int>
    }

    /// The form of the elements.
    package let form: Form
    /// The offset of the first element in the packet, after the four bytes of the block's header.
    package let offset: Int
    /// The size of all elements in bytes, with padding.
    package let length: Int

    /// Creates a block without elements.
    package init() {
        form = .other
        offset = 0
        length = 0
    }

    /// Creates a block with the profile of the packet.
    init(profile: UInt16, offset: Int, length: Int) {
        form = Form(profile: profile)
        self.offset = offset
        self.length = length
    }

    /// Calls a closure with each element in the order of the packet.
    package func forEach(in packet: Span<UInt8>, _ body: (Element) -> Void) {
        var cursor = offset
        while case .element(let element) = next(at: &cursor, in: packet) { body(element) }
    }

    /// Returns the range of the data of the first element with an id; nil if there is none.
    package func find(_ id: UInt8, in packet: Span<UInt8>) -> Range<Int>? {
        var cursor = offset
        while case .element(let element) = next(at: &cursor, in: packet) {
            if element.id == id { return element.range }
        }
        return nil
    }

    /// Returns whether no element exceeds the block.
    func isWellFormed(in packet: Span<UInt8>) -> Bool {
        var cursor = offset
        while true {
            switch next(at: &cursor, in: packet) {
            case .element: continue
            case .end: return true
            case .malformed: return false
            }
        }
    }

    /// The result of reading an element.
    private enum Step {
        /// An element.
        case element(Element)
        /// There are no more elements.
        case end
        /// The element exceeds the block.
        case malformed
    }

    /// Reads the element at the cursor, and advances the cursor after it.
    private func next(at cursor: inout Int, in packet: Span<UInt8>) -> Step {
        let end = min(offset + length, packet.count)
        guard form != .other else { return .end }
        while cursor < end, packet[cursor] == 0 { cursor += 1 }
        guard cursor < end else { return .end }
        return form == .oneByte
            ? oneByteElement(at: &cursor, end: end, in: packet) : twoByteElement(at: &cursor, end: end, in: packet)
    }

    /// Reads an element with a one-byte header. Id 15, and id 0 with a length, end the block (RFC 8285, section 4.2).
    private func oneByteElement(at cursor: inout Int, end: Int, in packet: Span<UInt8>) -> Step {
        let id = packet[cursor] >> 4
        guard id != 15, id != 0 else { return .end }
        let start = cursor + 1
        let stop = start + Int(packet[cursor] & 0x0F) + 1
        guard stop <= end else { return .malformed }
        cursor = stop
        return .element(Element(id: id, range: start..<stop))
    }

    /// Reads an element with a two-byte header (RFC 8285, section 4.3).
    private func twoByteElement(at cursor: inout Int, end: Int, in packet: Span<UInt8>) -> Step {
        let start = cursor + 2
        guard start <= end else { return .malformed }
        let id = packet[cursor]
        let stop = start + Int(packet[cursor + 1])
        guard stop <= end else { return .malformed }
        cursor = stop
        return .element(Element(id: id, range: start..<stop))
    }
}

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

    /// Returns the range of the dependency descriptor in the packet (AV1 RTP payload format 1.0, appendix A); nil if
    /// absent.
    package func dependencyDescriptor(in packet: Span<UInt8>, by map: RTPHeaderExtensionMap) -> Range<Int>? {
        range(of: .dependencyDescriptor, size: DependencyDescriptor.mandatorySize...255, in: packet, by: map)
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

/// The header extension ids that were negotiated with a peer (RFC 8285, section 5).
public struct RTPHeaderExtensionMap: Hashable, Sendable {
    /// Whether elements with two-byte headers may be sent (`a=extmap-allow-mixed`); otherwise elements that need them
    /// are omitted.
    public var allowsTwoByte = false

    /// The id of each extension by its raw value; 0 for none.
    private var ids = SIMD16<UInt8>(repeating: 0)

    /// Creates a map without ids.
    public init() {}

    /// Returns the id of an extension; nil if none was negotiated.
    public func id(of extension: RTPHeaderExtension) -> UInt8? {
        let id = ids[Int(`extension`.rawValue)]
        return id == 0 ? nil : id
    }

    /// The extension with an id. Assigning removes the id from the extension that had it; id 0 is ignored.
    public subscript(id: UInt8) -> RTPHeaderExtension? {
        get {
            guard id != 0 else { return nil }
            for index in 0..<ids.scalarCount where ids[index] == id {
                return RTPHeaderExtension(rawValue: UInt8(index))
            }
            return nil
        }
        set {
            guard id != 0 else { return }
            ids.replace(with: 0, where: ids .== id)
            if let newValue { ids[Int(newValue.rawValue)] = id }
        }
    }
}
