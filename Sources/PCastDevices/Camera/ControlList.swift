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
