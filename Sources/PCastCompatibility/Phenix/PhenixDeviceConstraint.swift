public import Foundation
public import PCast

/// An ideal or required value of a capability, which can be changed (Phenix: `PhenixDeviceConstraint`).
public final class PhenixDeviceConstraint {
    private(set) var constraint: DeviceConstraint

    init(_ value: DeviceConstraint.Value, _ type: PhenixConstraintType) {
        constraint = DeviceConstraint(value, kind: type)
    }

    /// Creates a constraint on a number.
    public static func initWithDouble(_ value: Double, _ type: PhenixConstraintType = .ideal)
        -> PhenixDeviceConstraint!
    {
        PhenixDeviceConstraint(.number(value), type)
    }

    /// Creates a constraint on a text; nil is the empty text.
    public static func initWith(_ value: String!, _ type: PhenixConstraintType = .ideal) -> PhenixDeviceConstraint! {
        PhenixDeviceConstraint(.text(value ?? ""), type)
    }

    /// Creates a constraint on the direction in which a camera faces.
    public static func initWith(_ value: PhenixFacingMode, _ type: PhenixConstraintType = .ideal)
        -> PhenixDeviceConstraint!
    {
        PhenixDeviceConstraint(.facingMode(value), type)
    }

    /// Creates a constraint on the mode of the flash.
    public static func initWith(_ value: PhenixFlashMode, _ type: PhenixConstraintType = .ideal)
        -> PhenixDeviceConstraint!
    {
        PhenixDeviceConstraint(.flashMode(value), type)
    }

    /// Creates a constraint on the location of the device.
    public static func initWith(_ value: PhenixLocation, _ type: PhenixConstraintType = .ideal)
        -> PhenixDeviceConstraint!
    {
        PhenixDeviceConstraint(.location(value), type)
    }

    /// Creates a constraint on the polar pattern.
    public static func initWith(_ value: PhenixPolarPattern, _ type: PhenixConstraintType = .ideal)
        -> PhenixDeviceConstraint!
    {
        PhenixDeviceConstraint(.polarPattern(value), type)
    }

    /// Creates a constraint on the mode of echo cancellation.
    public static func initWith(_ value: PhenixAudioEchoCancellationMode, _ type: PhenixConstraintType = .ideal)
        -> PhenixDeviceConstraint!
    {
        PhenixDeviceConstraint(.echoCancellation(value), type)
    }

    /// Creates a constraint on the rotation of the video source.
    public static func initWith(_ value: PhenixVideoSourceRotationMode, _ type: PhenixConstraintType = .ideal)
        -> PhenixDeviceConstraint!
    {
        PhenixDeviceConstraint(.rotationMode(value), type)
    }

    /// Creates a constraint on the mode of the auto-focus.
    public static func initWith(_ value: PhenixAutoFocusMode, _ type: PhenixConstraintType = .ideal)
        -> PhenixDeviceConstraint!
    {
        PhenixDeviceConstraint(.autoFocusMode(value), type)
    }

    /// Creates a constraint on the target of the auto-focus; nil for coordinates outside of the frame. It is a position
    /// in the displayed frame: [0;0] is the top left and [1;1] the bottom right corner.
    public static func initWith(_ value: CGPoint, _ type: PhenixConstraintType = .ideal) -> PhenixDeviceConstraint! {
        FocusTarget(value).map { PhenixDeviceConstraint(.focusTarget($0), type) }
    }

    /// Creates a constraint on the target of the auto-focus; nil for coordinates outside of the frame.
    public static func initWithAutoFocusTarget(
        _ value: CGPoint, _ type: PhenixConstraintType = .ideal
    ) -> PhenixDeviceConstraint! {
        initWith(value, type)
    }

    /// Changes the value to a number.
    public func updateDouble(_ value: Double) { constraint.value = .number(value) }
    /// Changes the direction in which a camera faces.
    public func updateFacingMode(_ value: PhenixFacingMode) { constraint.value = .facingMode(value) }
    /// Changes the mode of the flash.
    public func updateFlashMode(_ value: PhenixFlashMode) { constraint.value = .flashMode(value) }

    // Swift's importer of Objective-C omits the part of a name that the argument's type repeats.

    /// Changes the direction in which a camera faces.
    public func update(_ value: PhenixFacingMode) { constraint.value = .facingMode(value) }
    /// Changes the mode of the flash.
    public func update(_ value: PhenixFlashMode) { constraint.value = .flashMode(value) }
    /// Changes the location of the device.
    public func update(_ value: PhenixLocation) { constraint.value = .location(value) }
    /// Changes the polar pattern.
    public func update(_ value: PhenixPolarPattern) { constraint.value = .polarPattern(value) }
    /// Changes the mode of echo cancellation.
    public func update(_ value: PhenixAudioEchoCancellationMode) { constraint.value = .echoCancellation(value) }
    /// Changes the rotation of the video source.
    public func update(_ value: PhenixVideoSourceRotationMode) { constraint.value = .rotationMode(value) }
    /// Changes the mode of the auto-focus.
    public func update(_ value: PhenixAutoFocusMode) { constraint.value = .autoFocusMode(value) }

    /// Changes the target of the auto-focus. Coordinates outside of the frame change nothing. Returns whether they are
    /// within the frame.
    @discardableResult
    public func updateAutoFocusTarget(_ value: CGPoint) -> Bool {
        guard let target = FocusTarget(value) else { return false }
        constraint.value = .focusTarget(target)
        return true
    }

    /// Changes the target of the auto-focus. Coordinates outside of the frame change nothing. Returns whether they are
    /// within the frame.
    @discardableResult
    public func update(_ value: CGPoint) -> Bool { updateAutoFocusTarget(value) }
}

extension FocusTarget {
    /// Creates a target from a point; nil for coordinates outside of the frame.
    fileprivate init?(_ point: CGPoint) { self.init(x: Double(point.x), y: Double(point.y)) }
}
