/// Writes values of the Action Message Format 0.
package struct AMF0Writer {
    /// The bytes of the values so far.
    package private(set) var bytes: [UInt8] = []

    /// Creates a writer without values.
    package init() {}

    /// Returns the bytes of values.
    package static func bytes(_ values: [AMF0Value]) -> [UInt8] {
        var writer = AMF0Writer()
        for value in values { writer.write(value) }
        return writer.bytes
    }

    /// Writes a value. A string of more than 65,535 bytes becomes a long string.
    package mutating func write(_ value: AMF0Value) {
        switch value {
        case .number(let number):
            write(marker: .number)
            write(number.bitPattern)
        case .boolean(let boolean):
            write(marker: .boolean)
            bytes.append(boolean ? 1 : 0)
        case .string(let string) where string.utf8.count > Int(UInt16.max):
            write(marker: .longString)
            write(UInt32(truncatingIfNeeded: string.utf8.count))
            bytes += string.utf8
        case .string(let string):
            write(marker: .string)
            write(name: string)
        case .object(let object):
            write(marker: .object)
            write(object)
        case .null: write(marker: .null)
        case .undefined: write(marker: .undefined)
        case .ecmaArray(let object):
            write(marker: .ecmaArray)
            write(UInt32(truncatingIfNeeded: object.properties.count))
            write(object)
        case .strictArray(let elements):
            write(marker: .strictArray)
            write(UInt32(truncatingIfNeeded: elements.count))
            for element in elements { write(element) }
        case .date(let milliseconds, let timeZone):
            write(marker: .date)
            write(milliseconds.bitPattern)
            write(timeZone)
        }
    }

    private mutating func write(_ object: AMF0Object) {
        for property in object.properties {
            write(name: property.name)
            write(property.value)
        }
        write(name: "")
        write(marker: .objectEnd)
    }

    /// Writes a name or a short string. More than 65,535 bytes are cut.
    private mutating func write(name: String) {
        let text = name.utf8.prefix(Int(UInt16.max))
        write(UInt16(text.count))
        bytes += text
    }

    private mutating func write(marker: AMF0Marker) { bytes.append(marker.rawValue) }

    private mutating func write(_ number: some FixedWidthInteger) { bytes.append(bigEndian: number) }
}
