public import PCastMedia

/// Where sound comes from: a device, a file, or nothing but time. Frames of 20 ms at 48 kHz.
public protocol AudioSource: AnyObject, Sendable {
    /// 1 or 2.
    var channels: Int { get }

    /// Starts delivering. Once in a source's life.
    ///
    /// - Parameters:
    ///   - deliver: gets each frame on the source's own thread, when its last sample is due; it must not block.
    ///   - ended: is called at most once, on the source's thread, when it ends of itself; never after `stop`.
    func start(
        deliver: @escaping @Sendable (AudioFrame) -> Void, ended: @escaping @Sendable (SourceEnd) -> Void
    ) throws(DeviceError)

    /// Ends delivery and waits until the last call has returned, unless called by one of them.
    func stop()
}
