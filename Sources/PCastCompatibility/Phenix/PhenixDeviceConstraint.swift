public import Foundation
public import PCast

/// One wish, or one demand, about a capability, which is changed in place (Phenix: `PhenixDeviceConstraint`).
public final class PhenixDeviceConstraint {
    private(set) var constraint: DeviceConstraint

    init(_ value: DeviceConstraint.Value, _ type: PhenixConstraintType) {
        constraint = DeviceConstraint(value, kind: type)
    }

    public static func initWithDouble(_ value: Double, _ type: PhenixConstraintType = .ideal)
        -> PhenixDeviceConstraint!
    {
        PhenixDeviceConstraint(.number(value), type)
    }

    public static func initWith(_ value: String!, _ type: PhenixConstraintType = .ideal) -> PhenixDeviceConstraint! {
        PhenixDeviceConstraint(.text(value ?? ""), type)
    }

    public static func initWith(_ value: PhenixFacingMode, _ type: PhenixConstraintType = .ideal)
        -> PhenixDeviceConstraint!
    {
        PhenixDeviceConstraint(.facingMode(value), type)
    }

    public static func initWith(_ value: PhenixFlashMode, _ type: PhenixConstraintType = .ideal)
        -> PhenixDeviceConstraint!
    {
        PhenixDeviceConstraint(.flashMode(value), type)
    }

    public static func initWith(_ value: PhenixLocation, _ type: PhenixConstraintType = .ideal)
        -> PhenixDeviceConstraint!
    {
        PhenixDeviceConstraint(.location(value), type)
    }

    public static func initWith(_ value: PhenixPolarPattern, _ type: PhenixConstraintType = .ideal)
        -> PhenixDeviceConstraint!
    {
        PhenixDeviceConstraint(.polarPattern(value), type)
    }

    public static func initWith(_ value: PhenixAudioEchoCancellationMode, _ type: PhenixConstraintType = .ideal)
        -> PhenixDeviceConstraint!
    {
        PhenixDeviceConstraint(.echoCancellation(value), type)
    }

    public static func initWith(_ value: PhenixVideoSourceRotationMode, _ type: PhenixConstraintType = .ideal)
        -> PhenixDeviceConstraint!
    {
        PhenixDeviceConstraint(.rotationMode(value), type)
    }

    public static func initWith(_ value: PhenixAutoFocusMode, _ type: PhenixConstraintType = .ideal)
        -> PhenixDeviceConstraint!
    {
        PhenixDeviceConstraint(.autoFocusMode(value), type)
    }

    /// Auto-focus target: a position in the frame as displayed, where [0;0] is the top left and [1;1] the bottom right. Nil for
    /// coordinates outside of the frame.
    public static func initWith(_ value: CGPoint, _ type: PhenixConstraintType = .ideal) -> PhenixDeviceConstraint! {
        FocusTarget(value).map { PhenixDeviceConstraint(.focusTarget($0), type) }
    }

    /// The same by its own name.
    public static func initWithAutoFocusTarget(
        _ value: CGPoint, _ type: PhenixConstraintType = .ideal
    ) -> PhenixDeviceConstraint! {
        initWith(value, type)
    }

    public func updateDouble(_ value: Double) { constraint.value = .number(value) }
    public func updateFacingMode(_ value: PhenixFacingMode) { constraint.value = .facingMode(value) }
    public func updateFlashMode(_ value: PhenixFlashMode) { constraint.value = .flashMode(value) }

    // Apple's importer leaves out of a name what its argument's type says already.

    public func update(_ value: PhenixFacingMode) { constraint.value = .facingMode(value) }
    public func update(_ value: PhenixFlashMode) { constraint.value = .flashMode(value) }
    public func update(_ value: PhenixLocation) { constraint.value = .location(value) }
    public func update(_ value: PhenixPolarPattern) { constraint.value = .polarPattern(value) }
    public func update(_ value: PhenixAudioEchoCancellationMode) { constraint.value = .echoCancellation(value) }
    public func update(_ value: PhenixVideoSourceRotationMode) { constraint.value = .rotationMode(value) }
    public func update(_ value: PhenixAutoFocusMode) { constraint.value = .autoFocusMode(value) }

    /// Changes the auto-focus target. Coordinates outside of the frame change nothing.
    ///
    /// - Returns: Whether the coordinates are within the frame.
    @discardableResult
    public func updateAutoFocusTarget(_ value: CGPoint) -> Bool {
        guard let target = FocusTarget(value) else { return false }
        constraint.value = .focusTarget(target)
        return true
    }

    @discardableResult
    public func update(_ value: CGPoint) -> Bool { updateAutoFocusTarget(value) }
}

extension FocusTarget {
    fileprivate init?(_ point: CGPoint) { self.init(x: Double(point.x), y: Double(point.y)) }
}
