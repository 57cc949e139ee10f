/// A parameter of a PipeWire stream in its binary form (SPA POD): an object with properties, each in a type and a size,
/// aligned to 8 bytes.
///
/// Numbers are in the byte order of the machine, because the format is used on one machine only.
package struct PipeWirePod: Hashable, Sendable {
    /// A value of a property.
    package indirect enum Value: Hashable, Sendable {
        case id(UInt32)
        case integer(Int32)
        /// A width and a height, or a numerator and a denominator.
        case rectangle(UInt32, UInt32)
        case fraction(UInt32, UInt32)
        /// The preferred value, and all values that are accepted.
        case anyOf([Value])
        /// The preferred value, the smallest and the largest.
        case range(Value, Value, Value)
        /// A mask of accepted bits.
        case flags(Int32)
        /// Several identifiers, such as the positions of channels. They are written, and not read.
        case ids([UInt32])
    }

    /// The identifiers of SPA types, in `spa/utils/type.h`.
    private enum TypeID {
        static let id: UInt32 = 3
        static let integer: UInt32 = 4
        static let rectangle: UInt32 = 10
        static let fraction: UInt32 = 11
        static let array: UInt32 = 13
        static let object: UInt32 = 15
        static let choice: UInt32 = 19
    }

    /// The kinds of choices, in `spa/pod/pod.h`.
    private enum ChoiceID {
        static let range: UInt32 = 1
        static let step: UInt32 = 2
        static let enumeration: UInt32 = 3
        static let flags: UInt32 = 4
    }

    /// The most bytes of an object that is read. Formats are much smaller.
    package static let maximumSize = 64 * 1_024

    /// The most alternatives of a choice that are read.
    package static let maximumAlternatives = 256

    /// The type of the object, such as a format, and the parameter that it describes.
    var type: UInt32
    var parameter: UInt32
    private(set) var properties: [UInt32: Value] = [:]
    private var order: [UInt32] = []

    package init(
        type: UInt32, parameter: UInt32, _ properties: KeyValuePairs<UInt32, Value> = [:],
        followedBy others: KeyValuePairs<UInt32, Value> = [:]
    ) {
        (self.type, self.parameter) = (type, parameter)
        for (key, value) in properties { set(key, value) }
        for (key, value) in others { set(key, value) }
    }

    private mutating func set(_ key: UInt32, _ value: Value) {
        if properties.updateValue(value, forKey: key) == nil { order.append(key) }
    }

    // MARK: Writing

    /// The binary form.
    package var words: [UInt64] {
        var bytes: [UInt8] = []
        Self.append([0, TypeID.object, type, parameter], to: &bytes)
        for key in order {
            guard let value = properties[key] else { continue }
            Self.append([key, 0], to: &bytes)
            Self.append(value, to: &bytes)
        }
        var words = [UInt64](repeating: 0, count: bytes.count / 8)
        words.withUnsafeMutableBytes {
            $0.copyBytes(from: bytes)
            $0.storeBytes(of: UInt32(bytes.count - 8), as: UInt32.self)
        }
        return words
    }

    private static func append(_ numbers: [UInt32], to bytes: inout [UInt8]) {
        for number in numbers { withUnsafeBytes(of: number) { bytes.append(contentsOf: $0) } }
    }

    private static func append(_ value: Value, to bytes: inout [UInt8]) {
        switch value {
        case .anyOf(let values): append(ChoiceID.enumeration, (values.first.map { [$0] } ?? []) + values, to: &bytes)
        case .range(let preferred, let least, let most): append(ChoiceID.range, [preferred, least, most], to: &bytes)
        case .flags(let mask): append(ChoiceID.flags, [.integer(mask)], to: &bytes)
        default:
            let body = body(of: value)
            append([UInt32(body.count * 4), typeID(of: value)] + body, to: &bytes)
        }
        pad(&bytes)
    }

    private static func append(_ choice: UInt32, _ values: [Value], to bytes: inout [UInt8]) {
        guard let first = values.first else { return }
        let bodies = values.map(body)
        let size = UInt32(bodies[0].count * 4)
        let length = 16 + size * UInt32(bodies.count)
        append([length, TypeID.choice, choice, 0, size, typeID(of: first)] + bodies.flatMap(\.self), to: &bytes)
    }

    private static func pad(_ bytes: inout [UInt8]) { while bytes.count % 8 != 0 { bytes.append(0) } }

    private static func body(of value: Value) -> [UInt32] {
        switch value {
        case .id(let id): [id]
        case .integer(let number), .flags(let number): [UInt32(bitPattern: number)]
        case .rectangle(let width, let height): [width, height]
        // The size and the type of an element precede the elements.
        case .ids(let ids): [4, TypeID.id] + ids
        case .fraction(let numerator, let denominator): [numerator, denominator]
        case .anyOf, .range: []
        }
    }

    private static func typeID(of value: Value) -> UInt32 {
        switch value {
        case .id: TypeID.id
        case .integer, .flags: TypeID.integer
        case .rectangle: TypeID.rectangle
        case .fraction: TypeID.fraction
        case .anyOf, .range: TypeID.choice
        case .ids: TypeID.array
        }
    }

    // MARK: Reading

    /// Reads an object. A choice is read as its preferred value, or as all its values with `keepsChoices`. Properties of
    /// other types are skipped. Returns nil if it is damaged, larger than `maximumSize`, or not an object.
    package init?(_ bytes: UnsafeRawBufferPointer, keepsChoices: Bool = false) {
        func word(_ offset: Int) -> UInt32? {
            offset + 4 <= bytes.count ? bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self) : nil
        }
        guard let size = word(0), size <= Self.maximumSize, 8 + Int(size) <= bytes.count, word(1 * 4) == TypeID.object,
            size >= 8, let type = word(8), let parameter = word(12)
        else { return nil }
        (self.type, self.parameter) = (type, parameter)
        let end = 8 + Int(size)
        var offset = 16
        while offset + 16 <= end {
            guard let key = word(offset), let length = word(offset + 8), let kind = word(offset + 12),
                Int(length) <= end - offset - 16
            else { return nil }
            let body = offset + 16
            if kind == TypeID.choice {
                let values = Self.alternatives(length, body, atMost: keepsChoices ? Self.maximumAlternatives : 1, word)
                if let value = Self.choice(word(body), values) { set(key, value) }
            } else if let value = Self.value(kind, length, body, word) {
                set(key, value)
            }
            offset = body + (Int(length) + 7) / 8 * 8
        }
    }

    /// Returns the first values of a choice, of which the preferred one is the first.
    private static func alternatives(
        _ length: UInt32, _ body: Int, atMost count: Int, _ word: (Int) -> UInt32?
    ) -> [Value] {
        guard length >= 16, let size = word(body + 8), let type = word(body + 12), size >= 4 else { return [] }
        let all = min(count, Int(length - 16) / Int(size))
        return (0..<all).compactMap { value(type, size, body + 16 + $0 * Int(size), word) }
    }

    /// Returns the value of a choice of a kind. A single value is the preferred one.
    private static func choice(_ kind: UInt32?, _ values: [Value]) -> Value? {
        guard let preferred = values.first else { return nil }
        switch kind {
        case ChoiceID.enumeration where values.count > 1: return .anyOf(Array(values.dropFirst()))
        case ChoiceID.range where values.count > 2, ChoiceID.step where values.count > 2:
            return .range(preferred, values[1], values[2])
        default: return preferred
        }
    }

    private static func value(_ type: UInt32, _ size: UInt32, _ offset: Int, _ word: (Int) -> UInt32?) -> Value? {
        guard size >= 4, let first = word(offset) else { return nil }
        switch type {
        case TypeID.id: return .id(first)
        case TypeID.integer: return .integer(Int32(bitPattern: first))
        case TypeID.rectangle, TypeID.fraction:
            guard size >= 8, let second = word(offset + 4) else { return nil }
            return type == TypeID.rectangle ? .rectangle(first, second) : .fraction(first, second)
        default: return nil
        }
    }
}
