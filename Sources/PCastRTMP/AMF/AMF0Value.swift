/// A value of the Action Message Format 0, in which RTMP encodes commands and metadata.
package enum AMF0Value: Hashable, Sendable {
    /// A number.
    case number(Double)
    /// A Boolean value.
    case boolean(Bool)
    /// A string. Invalid UTF-8 is replaced by U+FFFD.
    case string(String)
    /// An object, also one with a class.
    case object(AMF0Object)
    /// Null.
    case null
    /// Undefined.
    case undefined
    /// An array with string keys (ECMA array).
    case ecmaArray(AMF0Object)
    /// An array with indices (strict array).
    case strictArray([AMF0Value])
    /// A time in milliseconds since 1970, with a time zone that the format reserves.
    case date(milliseconds: Double, timeZone: Int16)

    /// The number, if it is one.
    package var number: Double? {
        if case .number(let number) = self { return number }
        return nil
    }

    /// The number, if it is an integer within 0 to 2^53.
    package var count: Int? {
        guard let number, number >= 0, number <= 9_007_199_254_740_992 else { return nil }
        return Int(exactly: number)
    }

    /// The Boolean value, if it is one.
    package var boolean: Bool? {
        if case .boolean(let boolean) = self { return boolean }
        return nil
    }

    /// The string, if it is one.
    package var string: String? {
        if case .string(let string) = self { return string }
        return nil
    }

    /// The properties, if it is an object or an array with string keys.
    package var object: AMF0Object? {
        switch self {
        case .object(let object), .ecmaArray(let object): object
        default: nil
        }
    }

    /// The elements, if it is an array with indices.
    package var elements: [AMF0Value]? {
        if case .strictArray(let elements) = self { return elements }
        return nil
    }
}

/// The properties of an object in their order.
package struct AMF0Object: Hashable, Sendable, ExpressibleByDictionaryLiteral {
    /// A property with its name.
    package struct Property: Hashable, Sendable {
        /// The name.
        package let name: String
        /// The value.
        package let value: AMF0Value

        /// Creates a property.
        package init(name: String, value: AMF0Value) {
            self.name = name
            self.value = value
        }
    }

    /// The properties. A name may occur more than once.
    package var properties: [Property]

    /// Creates an object.
    package init(_ properties: [Property] = []) { self.properties = properties }

    /// Creates an object from names and values.
    package init(dictionaryLiteral elements: (String, AMF0Value)...) {
        properties = elements.map { Property(name: $0.0, value: $0.1) }
    }

    /// Returns the first property with a name; nil if there is none.
    package subscript(name: String) -> AMF0Value? { properties.first { $0.name == name }?.value }
}

/// The reason why a value of the Action Message Format 0 cannot be parsed.
package enum AMF0Error: Error, Hashable, Sendable, CustomStringConvertible {
    /// The bytes end within a value.
    case truncated
    /// Objects are nested deeper than ``AMF0Reader/maximumDepth``.
    case tooDeep
    /// There are more values than ``AMF0Reader/maximumCount``.
    case tooMany
    /// A value has a type that is not supported, such as AMF3.
    case unsupportedType(UInt8)

    /// The message for a person: the problem, and the limit or the remedy.
    package var description: String {
        switch self {
        case .truncated: "the AMF0 data ends within a value; send complete values"
        case .tooDeep: "the AMF0 data has more than \(AMF0Reader.maximumDepth) levels; send a flatter object"
        case .tooMany: "the AMF0 data has more than \(AMF0Reader.maximumCount) values; send fewer"
        case .unsupportedType(let type): "the AMF0 type \(type) is not supported; send AMF0 without AMF3 values"
        }
    }
}
