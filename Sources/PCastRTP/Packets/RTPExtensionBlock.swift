/// Where the header extension elements of a packet lie, and how they are written (RFC 8285, section 4).
public struct RTPExtensionBlock: Hashable, Sendable {
    /// How an element says its id and length.
    public enum Form: UInt8, Sendable {
        /// Four bits each: ids 1...14, 1...16 bytes.
        case oneByte
        /// A byte each: ids 1...255, 0...255 bytes.
        case twoByte
        /// A profile of its own, whose content is not known.
        case other

        init(profile: UInt16) {
            switch profile {
            case 0xBEDE: self = .oneByte
            case 0x1000...0x100F: self = .twoByte
            default: self = .other
            }
        }
    }

    /// One element: its negotiated id, and where its data lies in the packet.
    public struct Element: Hashable, Sendable {
        public var id: UInt8
        public var range: Range<Int>
    }

    public let form: Form
    /// Where the first element lies in the packet, behind the block's own four bytes.
    public let offset: Int
    /// Bytes of all elements, padding included.
    public let length: Int

    /// No extensions.
    public init() {
        form = .other
        offset = 0
        length = 0
    }

    init(profile: UInt16, offset: Int, length: Int) {
        form = Form(profile: profile)
        self.offset = offset
        self.length = length
    }

    /// Calls `body` with each element, in the packet's order.
    public func forEach(in packet: Span<UInt8>, _ body: (Element) -> Void) {
        var cursor = offset
        while case .element(let element) = next(at: &cursor, in: packet) { body(element) }
    }

    /// Where the first element with the id lies in the packet.
    public func find(_ id: UInt8, in packet: Span<UInt8>) -> Range<Int>? {
        var cursor = offset
        while case .element(let element) = next(at: &cursor, in: packet) {
            if element.id == id { return element.range }
        }
        return nil
    }

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

    private enum Step {
        case element(Element)
        case end
        case malformed
    }

    /// The element at `cursor`, which moves behind it: always forward, so the walk ends.
    private func next(at cursor: inout Int, in packet: Span<UInt8>) -> Step {
        let end = min(offset + length, packet.count)
        guard form != .other else { return .end }
        while cursor < end, packet[cursor] == 0 { cursor += 1 }
        guard cursor < end else { return .end }
        return form == .oneByte
            ? oneByteElement(at: &cursor, end: end, in: packet) : twoByteElement(at: &cursor, end: end, in: packet)
    }

    /// Id 15 stops the walk, and so does id 0 with a length (RFC 8285, section 4.2).
    private func oneByteElement(at cursor: inout Int, end: Int, in packet: Span<UInt8>) -> Step {
        let id = packet[cursor] >> 4
        guard id != 15, id != 0 else { return .end }
        let start = cursor + 1
        let stop = start + Int(packet[cursor] & 0x0F) + 1
        guard stop <= end else { return .malformed }
        cursor = stop
        return .element(Element(id: id, range: start..<stop))
    }

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
