/// A value can be coded by any encoder. A number that is not a 64-bit integer is coded as a `Double` and loses its
/// spelling, and members are decoded in the order of their names.
extension JSONValue: Codable {
    /// Decodes any JSON value.
    ///
    /// - Parameter decoder: The decoder.
    /// - Throws: The error of the decoder if the value is of no JSON type.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let boolean = try? container.decode(Bool.self) {
            self = .boolean(boolean)
        } else if let integer = try? container.decode(Int64.self) {
            self = .integer(integer)
        } else if let number = try? container.decode(Double.self) {
            self = .number(number)
        } else if let string = try? container.decode(String.self) {
            self = .string(string)
        } else if let array = try? container.decode([JSONValue].self) {
            self = .array(array)
        } else {
            self = .object(JSONObject(sorting: try container.decode([String: JSONValue].self)))
        }
    }

    /// Encodes the value; an object is encoded as a dictionary.
    ///
    /// - Parameter encoder: The encoder.
    /// - Throws: The error of the encoder.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .boolean(let boolean): try container.encode(boolean)
        case .number(let number):
            if let integer = number.integer {
                try container.encode(integer)
            } else {
                try container.encode(number.value)
            }
        case .string(let string): try container.encode(string)
        case .array(let array): try container.encode(array)
        case .object(let object): try container.encode(object.dictionary)
        }
    }
}
