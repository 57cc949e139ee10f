/// A video source whose settings can change while it runs.
protocol AdjustableSource: AnyObject, Sendable {
    /// The reason for each capability that was unsatisfied when it was opened.
    var unmet: [DeviceCapability: String] { get }

    /// Applies flash mode, focus mode and focus target. The format does not change. Returns the reason for each
    /// capability that is unsatisfied.
    func apply(_ configuration: VideoConfiguration) -> [DeviceCapability: String]

    /// Requests a key frame from a device that encodes. Returns whether the device supports that.
    @discardableResult func requestKeyFrame() -> Bool
}

extension CameraSource: AdjustableSource {}
