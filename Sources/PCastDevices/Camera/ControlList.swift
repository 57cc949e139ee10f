import CV4L2

/// The controls of a camera, by ID.
struct ControlList: Sendable {
    /// The limits. No driver exceeds them.
    private static let limit = 512
    private static let itemLimit: Int64 = 256

    /// The controls in the driver's order, without disabled ones and class headings.
    let descriptions: [ControlDescription]

    init(_ descriptions: [ControlDescription]) { self.descriptions = descriptions }

    init(of node: VideoNode) {
        var descriptions: [ControlDescription] = []
        var id: UInt32 = 0
        let next = UInt32(V4L2_CTRL_FLAG_NEXT_CTRL) | UInt32(V4L2_CTRL_FLAG_NEXT_COMPOUND)
        for _ in 0..<Self.limit {
            var query = v4l2_query_ext_ctrl()
            query.id = id | next
            // A driver that repeats an ID would cause an endless loop.
            guard node.ask(CV4L2_QUERY_EXT_CTRL, &query) == 0, query.id > id else { break }
            id = query.id
            guard query.flags & UInt32(V4L2_CTRL_FLAG_DISABLED) == 0,
                query.type != V4L2_CTRL_TYPE_CTRL_CLASS.rawValue
            else { continue }
            descriptions.append(
                ControlDescription(
                    id: id, name: FixedText.string(query.name), type: query.type, flags: query.flags,
                    minimum: query.minimum, maximum: query.maximum, step: Int64(clamping: query.step),
                    standard: query.default_value, elementSize: query.elem_size, elementCount: query.elems,
                    items: Self.items(of: query, node)))
        }
        self.descriptions = descriptions
    }

    private static func items(of query: v4l2_query_ext_ctrl, _ node: VideoNode) -> [ControlDescription.Item] {
        let isNamed = query.type == V4L2_CTRL_TYPE_MENU.rawValue
        guard isNamed || query.type == V4L2_CTRL_TYPE_INTEGER_MENU.rawValue else { return [] }
        guard (0..<itemLimit).contains(query.minimum), query.minimum <= query.maximum else { return [] }
        return (query.minimum...min(query.maximum, itemLimit)).compactMap { index in
            var item = cv4l2_menu_item()
            guard cv4l2_query_menu(node.descriptor, query.id, UInt32(index), &item) == 0 else { return nil }
            return ControlDescription.Item(
                value: index, name: isNamed ? FixedText.string(item.name) : String(item.value))
        }
    }

    subscript(_ id: Int32) -> ControlDescription? { descriptions.first { $0.id == UInt32(bitPattern: id) } }

    /// Returns the control if it is a single number that can be set.
    func settable(_ id: Int32) -> ControlDescription? { self[id].flatMap { $0.isSettable ? $0 : nil } }
}

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
