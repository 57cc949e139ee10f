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
