import CFFmpeg
import PCastMedia

extension MatrixCoefficients {
    /// What a picture of libav says. What it does not say is taken as BT.601, which cameras and browsers send; red, green
    /// and blue are converted to that here.
    init(of picture: UnsafeMutablePointer<AVFrame>) {
        self = picture.pointee.colorspace == AVCOL_SPC_BT709 ? .bt709 : .bt601
    }

    /// As `cyuv_bgra` takes it.
    var number: Int32 { self == .bt709 ? 709 : 601 }
}
