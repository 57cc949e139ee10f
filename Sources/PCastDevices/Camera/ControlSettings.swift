import CV4L2

/// The values of a camera's controls, and what they were before they were changed here.
struct ControlSettings: Sendable {
    private enum Former: Sendable {
        case number(UInt32, Int64)
        case rectangle(UInt32, left: Int32, top: Int32, width: UInt32, height: UInt32)

        var id: UInt32 {
            switch self {
            case .number(let id, _), .rectangle(let id, _, _, _, _): id
            }
        }
    }

    let list: ControlList
    private let node: VideoNode
    private var former: [Former] = []

    init(_ node: VideoNode, _ list: ControlList) {
        self.node = node
        self.list = list
    }

    /// Nil for what there is not, or cannot be read.
    func value(_ id: Int32) -> Int64? {
        guard let control = list[id] else { return nil }
        var answer = v4l2_control(id: control.id, value: 0)
        return node.ask(CV4L2_G_CTRL, &answer) == 0 ? Int64(answer.value) : nil
    }

    /// Whether the camera took the value.
    mutating func set(_ id: Int32, _ value: Int64) -> Bool {
        guard let control = list.settable(id), control.offers(value), let number = Int32(exactly: value) else {
            return false
        }
        let before = self.value(id)
        guard before != value else { return true }
        var wish = v4l2_control(id: control.id, value: number)
        guard node.ask(CV4L2_S_CTRL, &wish) == 0 else { return false }
        if let before { remember(.number(control.id, before)) }
        return true
    }

    /// Of a button, which has no value.
    func press(_ id: Int32) -> Bool {
        guard let control = list.settable(id) else { return false }
        var wish = v4l2_control(id: control.id, value: 1)
        return node.ask(CV4L2_S_CTRL, &wish) == 0
    }

    /// - Parameter which: `CV4L2_WHICH_CURRENT`, `_DEFAULT` or `_MAXIMUM`.
    func rectangle(_ control: ControlDescription, which: Int = CV4L2_WHICH_CURRENT) -> v4l2_rect? {
        var rectangle = v4l2_rect()
        let error = cv4l2_get_rectangle(node.descriptor, UInt32(which), control.id, &rectangle)
        return error == 0 ? rectangle : nil
    }

    mutating func set(_ control: ControlDescription, _ rectangle: v4l2_rect) -> Bool {
        let before = self.rectangle(control)
        var wish = rectangle
        guard cv4l2_set_rectangle(node.descriptor, control.id, &wish) == 0 else { return false }
        if let before {
            remember(
                .rectangle(
                    control.id, left: before.left, top: before.top, width: before.width, height: before.height))
        }
        return true
    }

    private mutating func remember(_ value: Former) {
        if !former.contains(where: { $0.id == value.id }) { former.append(value) }
    }

    /// As it was before, the last change first: what is automatic takes no values of hand.
    mutating func restore() {
        for value in former.reversed() {
            switch value {
            case .number(let id, let number):
                var wish = v4l2_control(id: id, value: Int32(clamping: number))
                _ = node.ask(CV4L2_S_CTRL, &wish)
            case .rectangle(let id, let left, let top, let width, let height):
                var wish = v4l2_rect(left: left, top: top, width: width, height: height)
                _ = cv4l2_set_rectangle(node.descriptor, id, &wish)
            }
        }
        former = []
    }
}
