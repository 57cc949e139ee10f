extension DeviceConstraint.Value: CustomStringConvertible {
    /// The value as on a command line.
    public var description: String {
        switch self {
        case .number(let number): ConstraintNumber.text(number)
        case .text(let text): text
        case .facingMode(let mode): mode.rawValue
        case .flashMode(let mode): mode.rawValue
        case .location(let location): location.rawValue
        case .polarPattern(let pattern): pattern.rawValue
        case .echoCancellation(let mode): mode.rawValue
        case .rotationMode(let mode): mode.rawValue
        case .autoFocusMode(let mode): mode.rawValue
        case .focusTarget(let target): "\(ConstraintNumber.text(target.x)),\(ConstraintNumber.text(target.y))"
        case .channelLayout(let layout): layout.rawValue
        }
    }
}

extension DeviceConstraint: CustomStringConvertible {
    /// The kind and the value, such as "min 640".
    public var description: String { "\(kind.rawValue) \(value)" }
}
