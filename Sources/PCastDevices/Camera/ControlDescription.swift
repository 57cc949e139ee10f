import CV4L2

/// A driver's description of a control, with its ID.
struct ControlDescription: Hashable, Sendable {
    /// An entry of a menu. Menus may have gaps in their numbers.
    struct Item: Hashable, Sendable {
        let value: Int64
        let name: String
    }

    let id: UInt32
    let name: String
    let type: UInt32
    let flags: UInt32
    let minimum: Int64
    let maximum: Int64
    let step: Int64
    let standard: Int64
    /// The number of bytes of one value, and the number of values.
    let elementSize: UInt32
    let elementCount: UInt32
    let items: [Item]

    var isReadOnly: Bool { flags & UInt32(V4L2_CTRL_FLAG_READ_ONLY) != 0 }

    /// Whether it is a single number that can be set.
    var isSettable: Bool {
        let kinds = [
            V4L2_CTRL_TYPE_INTEGER, V4L2_CTRL_TYPE_BOOLEAN, V4L2_CTRL_TYPE_MENU, V4L2_CTRL_TYPE_BUTTON,
            V4L2_CTRL_TYPE_BITMASK, V4L2_CTRL_TYPE_INTEGER_MENU,
        ]
        return !isReadOnly && elementCount <= 1 && kinds.contains { $0.rawValue == type }
    }

    func offers(_ value: Int64) -> Bool {
        switch type {
        case V4L2_CTRL_TYPE_MENU.rawValue, V4L2_CTRL_TYPE_INTEGER_MENU.rawValue: items.contains { $0.value == value }
        // The maximum of a bitmask is the set of its valid bits.
        case V4L2_CTRL_TYPE_BITMASK.rawValue: value & ~maximum == 0
        case V4L2_CTRL_TYPE_BUTTON.rawValue: true
        default: minimum <= value && value <= maximum
        }
    }

    /// The description for applications.
    var control: DeviceControl { DeviceControl(name: name, kind: kind, isReadOnly: isReadOnly) }

    private var kind: DeviceControl.Kind {
        if elementCount > 1 { return .other("\(elementCount) values of \(Self.word(type))") }
        switch type {
        case V4L2_CTRL_TYPE_INTEGER.rawValue, V4L2_CTRL_TYPE_INTEGER64.rawValue:
            guard minimum <= maximum else { return .other("integer") }
            return .integer(range: minimum...maximum, step: step, standard: standard)
        case V4L2_CTRL_TYPE_BOOLEAN.rawValue: return .boolean(standard: standard != 0)
        case V4L2_CTRL_TYPE_MENU.rawValue, V4L2_CTRL_TYPE_INTEGER_MENU.rawValue:
            return .menu(items.map(\.name), standard: items.firstIndex { $0.value == standard } ?? 0)
        case V4L2_CTRL_TYPE_BUTTON.rawValue: return .button
        default: return .other(Self.word(type))
        }
    }

    private static func word(_ type: UInt32) -> String {
        switch type {
        case V4L2_CTRL_TYPE_INTEGER.rawValue, V4L2_CTRL_TYPE_INTEGER64.rawValue: "integer"
        case V4L2_CTRL_TYPE_STRING.rawValue: "text"
        case V4L2_CTRL_TYPE_BITMASK.rawValue: "bitmask"
        case V4L2_CTRL_TYPE_U8.rawValue: "8 bits"
        case V4L2_CTRL_TYPE_U16.rawValue: "16 bits"
        case V4L2_CTRL_TYPE_U32.rawValue: "32 bits"
        case V4L2_CTRL_TYPE_AREA.rawValue: "area"
        case UInt32(CV4L2_CTRL_TYPE_RECT): "rectangle"
        default: "type \(type)"
        }
    }
}
