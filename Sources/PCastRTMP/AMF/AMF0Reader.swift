/// Reads values of the Action Message Format 0. Depth and number of values are limited.
package struct AMF0Reader {
    /// The maximum depth of nested values.
    package static let maximumDepth = 16
    /// The maximum number of values that a reader returns, with those in objects and arrays.
    package static let maximumCount = 4_096

    private var reader: ByteReader
    private var count = 0

    /// Creates a reader.
    ///
    /// - Parameters:
    ///   - bytes: The bytes of the values.
    ///   - offset: The offset of the first value.
    package init(_ bytes: [UInt8], from offset: Int = 0) { reader = ByteReader(bytes, from: offset) }

    /// Whether all bytes were read.
    package var isAtEnd: Bool { reader.isAtEnd }

    /// Reads the next value.
    package mutating func value() throws(AMF0Error) -> AMF0Value { try value(depth: 0) }

    /// Reads all remaining values.
    package mutating func values() throws(AMF0Error) -> [AMF0Value] {
        var values: [AMF0Value] = []
        while !isAtEnd { values.append(try value()) }
        return values
    }

    private mutating func value(depth: Int) throws(AMF0Error) -> AMF0Value {
        guard depth < Self.maximumDepth else { throw .tooDeep }
        count += 1
        guard count <= Self.maximumCount else { throw .tooMany }
        let type = try some(reader.uint8())
        switch AMF0Marker(rawValue: type) {
        case .number: return .number(Double(bitPattern: try some(reader.uint64())))
        case .boolean: return .boolean(try some(reader.uint8()) != 0)
        case .string: return .string(try string())
        case .longString, .xmlDocument: return .string(try text(Int(some(reader.uint32()))))
        case .object: return .object(try object(depth: depth))
        case .typedObject:
            _ = try string()
            return .object(try object(depth: depth))
        case .ecmaArray:
            // The number of properties is only a hint.
            _ = try some(reader.uint32())
            return .ecmaArray(try object(depth: depth))
        case .strictArray:
            let length = Int(try some(reader.uint32()))
            // Each element has at least one byte.
            guard length <= reader.remaining else { throw .truncated }
            var elements: [AMF0Value] = []
            for _ in 0..<length { elements.append(try value(depth: depth + 1)) }
            return .strictArray(elements)
        case .date:
            let milliseconds = Double(bitPattern: try some(reader.uint64()))
            return .date(milliseconds: milliseconds, timeZone: Int16(bitPattern: try some(reader.uint16())))
        case .null: return .null
        case .undefined, .unsupported: return .undefined
        case nil, .objectEnd: throw .unsupportedType(type)
        }
    }

    /// Reads properties up to the end marker. Some encoders omit the marker at the end of a message.
    private mutating func object(depth: Int) throws(AMF0Error) -> AMF0Object {
        var object = AMF0Object()
        while !reader.isAtEnd {
            let name = try string()
            if name.isEmpty, reader.peek() == AMF0Marker.objectEnd.rawValue {
                _ = reader.uint8()
                return object
            }
            object.properties.append(.init(name: name, value: try value(depth: depth + 1)))
        }
        return object
    }

    private mutating func string() throws(AMF0Error) -> String { try text(Int(some(reader.uint16()))) }

    private mutating func text(_ length: Int) throws(AMF0Error) -> String {
        String(decoding: try some(reader.bytes(length)), as: UTF8.self)
    }

    /// Returns a value that was read, or throws if the bytes have ended.
    private func some<Value>(_ value: Value?) throws(AMF0Error) -> Value {
        guard let value else { throw .truncated }
        return value
    }
}

/// The first byte of a value, its type.
enum AMF0Marker: UInt8 {
    case number = 0
    case boolean = 1
    case string = 2
    case object = 3
    case null = 5
    case undefined = 6
    case ecmaArray = 8
    case objectEnd = 9
    case strictArray = 10
    case date = 11
    case longString = 12
    case unsupported = 13
    case xmlDocument = 15
    case typedObject = 16
}
