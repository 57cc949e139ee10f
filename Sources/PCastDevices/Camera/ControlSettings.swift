import CV4L2
import PCastCore

/// The values of a camera's controls, and their values before they were changed here.
struct ControlSettings: Sendable {
    private enum PreviousValue: Sendable {
        case number(UInt32, Int64)
        case region(UInt32, SensorRegion)

        var id: UInt32 {
            switch self {
            case .number(let id, _), .region(let id, _): id
            }
        }
    }

    let list: ControlList
    private let node: VideoNode
    private var former: [PreviousValue] = []

    init(_ node: VideoNode, _ list: ControlList) {
        self.node = node
        self.list = list
    }

    /// Returns the value of a control; nil if it is missing or cannot be read.
    func value(_ id: Int32) -> Int64? {
        guard let control = list[id] else { return nil }
        var answer = v4l2_control(id: control.id, value: 0)
        return node.ask(CV4L2_G_CTRL, &answer) == 0 ? Int64(answer.value) : nil
    }

    /// Sets a control. Returns whether the camera accepted the value.
    mutating func set(_ id: Int32, _ value: Int64) -> Bool {
        guard let control = list.settable(id), control.offers(value), let number = Int32(exactly: value) else {
            return false
        }
        let before = self.value(id)
        guard before != value else { return true }
        var request = v4l2_control(id: control.id, value: number)
        guard node.ask(CV4L2_S_CTRL, &request) == 0 else { return false }
        if let before { remember(.number(control.id, before)) }
        return true
    }

    /// Triggers a button control, which has no value. Returns whether the camera accepted it.
    func press(_ id: Int32) -> Bool {
        guard let control = list.settable(id) else { return false }
        var request = v4l2_control(id: control.id, value: 1)
        return node.ask(CV4L2_S_CTRL, &request) == 0
    }

    /// Returns a region; nil if it cannot be read. `which` is `CV4L2_WHICH_CURRENT`, `_DEFAULT` or `_MAXIMUM`.
    func region(_ control: ControlDescription, which: Int = CV4L2_WHICH_CURRENT) -> SensorRegion? {
        var rectangle = v4l2_rect()
        let error = cv4l2_get_rectangle(node.descriptor, UInt32(which), control.id, &rectangle)
        return error == 0 ? SensorRegion(rectangle) : nil
    }

    mutating func set(_ control: ControlDescription, _ region: SensorRegion) -> Bool {
        let before = self.region(control)
        var request = region.rectangle
        guard cv4l2_set_rectangle(node.descriptor, control.id, &request) == 0 else { return false }
        if let before { remember(.region(control.id, before)) }
        return true
    }

    private mutating func remember(_ value: PreviousValue) {
        if !former.contains(where: { $0.id == value.id }) { former.append(value) }
    }

    /// Restores the previous values in reverse order, because controls in an automatic mode do not accept manual
    /// values.
    mutating func restore() {
        for value in former.reversed() {
            switch value {
            case .number(let id, let number):
                var request = v4l2_control(id: id, value: Int32(clamping: number))
                _ = node.ask(CV4L2_S_CTRL, &request)
            case .region(let id, let region):
                var request = region.rectangle
                _ = cv4l2_set_rectangle(node.descriptor, id, &request)
            }
        }
        former = []
    }
}

/// A rectangle in sensor pixels.
struct SensorRegion: Hashable, Sendable {
    var left: Int
    var top: Int
    var width: Int
    var height: Int

    /// Returns nil for an implausible rectangle.
    init?(_ rectangle: v4l2_rect) {
        guard (1...65_536).contains(rectangle.width), (1...65_536).contains(rectangle.height),
            (-65_536...65_536).contains(rectangle.left), (-65_536...65_536).contains(rectangle.top)
        else { return nil }
        left = Int(rectangle.left)
        top = Int(rectangle.top)
        width = Int(rectangle.width)
        height = Int(rectangle.height)
    }

    init(left: Int = 0, top: Int = 0, width: Int, height: Int) {
        self.left = left
        self.top = top
        self.width = width
        self.height = height
    }

    var rectangle: v4l2_rect {
        v4l2_rect(left: Int32(left), top: Int32(top), width: UInt32(width), height: UInt32(height))
    }

    /// Returns the rectangle around a target, a quarter of this region in width and height and within its edges.
    func around(_ target: FocusTarget) -> SensorRegion {
        let (part, rest) = (max(width / 4, 1), max(height / 4, 1))
        let column = Int(target.x * Double(width)) - part / 2
        let row = Int(target.y * Double(height)) - rest / 2
        return SensorRegion(
            left: left + min(max(column, 0), width - part), top: top + min(max(row, 0), height - rest), width: part,
            height: rest)
    }
}
