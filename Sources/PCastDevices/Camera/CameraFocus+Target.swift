import CV4L2
import PCastCore

extension CameraFocus {
    /// Sets the region to focus on; nil resets it. Returns the reason if that is not possible.
    func aim(_ target: FocusTarget?, _ size: Dimensions, _ settings: inout ControlSettings) -> String? {
        guard let control = CameraFeatures.focusTarget(settings.list) else {
            return target == nil ? nil : "the camera has no region of interest"
        }
        // The unit is sensor pixels. The sensor's size is the maximum region, or the default one if the kernel does not
        // report a maximum.
        let sensor =
            settings.region(control, which: CV4L2_WHICH_MAXIMUM)
            ?? settings.region(control, which: CV4L2_WHICH_DEFAULT)
            ?? SensorRegion(width: size.width, height: size.height)
        guard settings.set(control, target.map(sensor.around) ?? sensor) else {
            return "the camera rejects the region of interest"
        }
        let automatic = Int32(CV4L2_CID_REGION_OF_INTEREST_AUTO)
        if let control = settings.list.settable(automatic), control.offers(Int64(CV4L2_REGION_OF_INTEREST_AUTO_FOCUS)) {
            let bits = settings.value(automatic) ?? 0
            _ = settings.set(automatic, bits | Int64(CV4L2_REGION_OF_INTEREST_AUTO_FOCUS))
        }
        return nil
    }
}
