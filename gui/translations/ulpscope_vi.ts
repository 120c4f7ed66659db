<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="vi" sourcelanguage="en">
<context>
    <name>CurvesPanel</name>
    <message>
        <source>step</source>
        <translation>bước</translation>
    </message>
    <message>
        <source>time since the run began</source>
        <translation>thời gian từ lúc bắt đầu chạy</translation>
    </message>
    <message>
        <source>Show</source>
        <translation>Hiện</translation>
    </message>
    <message>
        <source>all curves</source>
        <translation>mọi đường cong</translation>
    </message>
    <message>
        <source>against</source>
        <translation>theo</translation>
    </message>
    <message>
        <source>steps</source>
        <translation>số bước</translation>
    </message>
    <message>
        <source>time</source>
        <translation>thời gian</translation>
    </message>
    <message>
        <source>fp32 band</source>
        <translation>dải fp32</translation>
    </message>
    <message>
        <source>mean of the fp32 seeds ± one standard deviation between them [%1]</source>
        <translation>trung bình của các seed fp32 ± một độ lệch chuẩn giữa chúng [%1]</translation>
    </message>
    <message>
        <source>Smoothing</source>
        <translation>Làm mượt</translation>
    </message>
    <message>
        <source>off</source>
        <translation>tắt</translation>
    </message>
    <message>
        <source> points</source>
        <translation> điểm</translation>
    </message>
    <message>
        <source>Mean over neighbouring points. Only for the eye: no number anywhere else is smoothed.</source>
        <translation>Trung bình các điểm lân cận. Chỉ để nhìn: không con số nào ở nơi khác được làm mượt.</translation>
    </message>
    <message>
        <source>, smoothed for the eye</source>
        <translation>, làm mượt để dễ nhìn</translation>
    </message>
    <message>
        <source>%1: skipped</source>
        <translation>%1: bị bỏ qua</translation>
    </message>
    <message>
        <source>%1: step %2 was skipped</source>
        <translation>%1: bước %2 bị bỏ qua</translation>
    </message>
    <message>
        <source>fp32 ± 1 standard deviation</source>
        <translation>fp32 ± 1 độ lệch chuẩn</translation>
    </message>
    <message>
        <source>%1: nodes counted, time left out</source>
        <translation>%1: các nút được đếm, thời gian bị bỏ ra</translation>
    </message>
    <message>
        <source>%1: step %2 is left out (%3): its nodes were counted one after the other by the GPU&apos;s hardware counters</source>
        <translation>%1: bước %2 bị bỏ ra (%3): các nút của nó được đếm lần lượt bằng bộ đếm phần cứng của GPU</translation>
    </message>
</context>
<context>
    <name>Follower</name>
    <message>
        <source>%1 is not there any more; what was read of it stays on show</source>
        <translation>%1 không còn nữa; những gì đã đọc được vẫn hiển thị</translation>
    </message>
</context>
<context>
    <name>GenerationsPanel</name>
    <message>
        <source>Step time by mode and machine</source>
        <translation>Thời gian một bước theo chế độ và máy</translation>
    </message>
    <message>
        <source>Machines side by side</source>
        <translation>Các máy đặt cạnh nhau</translation>
    </message>
    <message>
        <source>What cannot be compared, and why</source>
        <translation>Những gì không so sánh được, và vì sao</translation>
    </message>
    <message>
        <source>Open the run file of another machine beside this one: machines are compared with the current file&apos;s.</source>
        <translation>Hãy mở thêm tệp chạy của một máy khác: các máy được so với máy của tệp hiện tại.</translation>
    </message>
    <message>
        <source>Ratios are to the first machine. Outlines: emulated or projected, which says nothing about hardware.</source>
        <translation>Tỉ số là so với máy đầu tiên. Cột rỗng: giả lập hoặc dự phóng, không nói lên điều gì về phần cứng.</translation>
    </message>
    <message>
        <source>All files that are open were recorded on the same device: there are no machines to compare.</source>
        <translation>Mọi tệp đang mở đều được ghi trên cùng một thiết bị: không có máy nào để so sánh.</translation>
    </message>
    <message>
        <source>%1, %2: a step takes %3 [%4]</source>
        <translation>%1, %2: một bước mất %3 [%4]</translation>
    </message>
    <message>
        <source>mode</source>
        <translation>chế độ</translation>
    </message>
    <message>
        <source>Step time</source>
        <translation>Thời gian một bước</translation>
    </message>
</context>
<context>
    <name>LossScalePanel</name>
    <message>
        <source>Loss scale</source>
        <translation>Loss scale</translation>
    </message>
    <message>
        <source>step</source>
        <translation>bước</translation>
    </message>
    <message>
        <source>Runs that scale their loss</source>
        <translation>Các lần chạy có nhân tỉ lệ loss</translation>
    </message>
    <message>
        <source>No run that is shown scales its loss.</source>
        <translation>Không lần chạy nào đang hiện có nhân tỉ lệ loss.</translation>
    </message>
    <message>
        <source>No window of scales is known: no scaled gradient of a narrow range was observed, or no scale suits.</source>
        <translation>Không rõ khoảng loss scale phù hợp: không quan sát được gradient đã nhân tỉ lệ có dải hẹp, hoặc không giá trị nào phù hợp.</translation>
    </message>
    <message>
        <source>Shaded: the window of scales at which no gradient overflows and at most 1 % of a layer&apos;s is lost to zero, in the observed steps.</source>
        <translation>Vùng tô: khoảng loss scale mà ở đó không gradient nào tràn số và mỗi lớp mất về 0 nhiều nhất 1 %, trong các bước được quan sát.</translation>
    </message>
    <message>
        <source>A click on a mark leads to its overflow.</source>
        <translation>Nhấp vào một dấu để đến lần tràn số của nó.</translation>
    </message>
    <message>
        <source>%1: overflow in step %2
loss scale %3 [%4]</source>
        <translation>%1: tràn số ở bước %2
loss scale %3 [%4]</translation>
    </message>
    <message>
        <source>, afterwards %1</source>
        <translation>, sau đó %1</translation>
    </message>
    <message>
        <source>The step was skipped.</source>
        <translation>Bước này bị bỏ qua.</translation>
    </message>
    <message>
        <source>The step was applied all the same.</source>
        <translation>Bước này vẫn được áp dụng.</translation>
    </message>
    <message>
        <source>%1: window</source>
        <translation>%1: khoảng phù hợp</translation>
    </message>
</context>
<context>
    <name>MemoryPanel</name>
    <message>
        <source>Memory at the peak by category</source>
        <translation>Bộ nhớ ở mức đỉnh theo loại</translation>
    </message>
    <message>
        <source>Memory over one step</source>
        <translation>Bộ nhớ trong một bước</translation>
    </message>
    <message>
        <source>Why it did not halve</source>
        <translation>Vì sao không giảm một nửa</translation>
    </message>
    <message>
        <source>%1 does not halve the memory of fp32:</source>
        <translation>%1 không giảm được một nửa bộ nhớ của fp32:</translation>
    </message>
    <message>
        <source>%1, %2: %3 [%4]</source>
        <translation>%1, %2: %3 [%4]</translation>
    </message>
    <message>
        <source>planned</source>
        <translation>theo kế hoạch</translation>
    </message>
    <message>
        <source>%1, as planned: %2 [%3]</source>
        <translation>%1, theo kế hoạch: %2 [%3]</translation>
    </message>
    <message>
        <source>mode</source>
        <translation>chế độ</translation>
    </message>
    <message>
        <source>bytes at the peak</source>
        <translation>số byte ở mức đỉnh</translation>
    </message>
    <message>
        <source>node of the step, in execution order</source>
        <translation>nút của bước, theo thứ tự thực hiện</translation>
    </message>
    <message>
        <source>bytes of results still to be read</source>
        <translation>số byte của các kết quả còn phải đọc</translation>
    </message>
    <message>
        <source>bytes in use</source>
        <translation>số byte đang dùng</translation>
    </message>
</context>
<context>
    <name>NodesPanel</name>
    <message>
        <source>Nodes of the plan</source>
        <translation>Các nút của kế hoạch</translation>
    </message>
    <message>
        <source>Mode whose plan is shown</source>
        <translation>Chế độ có kế hoạch đang hiện</translation>
    </message>
    <message>
        <source>Plan of</source>
        <translation>Kế hoạch của</translation>
    </message>
    <message>
        <source>no plan is on record</source>
        <translation>không có kế hoạch nào được ghi</translation>
    </message>
    <message>
        <source>nodes: %1 of %2</source>
        <translation>số nút: %1 trên %2</translation>
    </message>
</context>
<context>
    <name>Notices</name>
    <message>
        <source>seed %1</source>
        <translation>seed %1</translation>
    </message>
    <message>
        <source>%1 is a non-standard run: %2</source>
        <translation>%1 là lần chạy không theo chuẩn: %2</translation>
    </message>
    <message>
        <source>%1 was cut off: nobody writes its recording any more</source>
        <translation>%1 bị ngắt giữa chừng: không còn ai ghi bản ghi của nó</translation>
    </message>
    <message>
        <source>%1 failed: %2</source>
        <translation>%1 thất bại: %2</translation>
    </message>
    <message>
        <source>Times of %1 are emulated: the formats are carried out in software, and the times say nothing of a GPU</source>
        <translation>Thời gian của %1 là giả lập: các định dạng được thực hiện bằng phần mềm, nên không nói lên điều gì về GPU</translation>
    </message>
    <message>
        <source>The GPU&apos;s clock was held down in %1 % of the samples (%2): %3</source>
        <translation>Xung nhịp GPU bị hạ trong %1 % số mẫu (%2): %3</translation>
    </message>
</context>
<context>
    <name>NumericsPanel</name>
    <message>
        <source>Layers and steps</source>
        <translation>Các lớp và các bước</translation>
    </message>
    <message>
        <source>Mode</source>
        <translation>Chế độ</translation>
    </message>
    <message>
        <source>Show</source>
        <translation>Hiện</translation>
    </message>
    <message>
        <source>What the map shows</source>
        <translation>Bản đồ hiện gì</translation>
    </message>
    <message>
        <source>Tensor</source>
        <translation>Tensor</translation>
    </message>
    <message>
        <source>Tensor whose histogram is shown</source>
        <translation>Tensor có biểu đồ tần suất đang hiện</translation>
    </message>
    <message>
        <source>Histogram over exponents</source>
        <translation>Biểu đồ tần suất theo số mũ</translation>
    </message>
    <message>
        <source>step</source>
        <translation>bước</translation>
    </message>
    <message>
        <source>No step was observed: ulpscope run records statistics with observe.</source>
        <translation>Không bước nào được quan sát: ulpscope run ghi thống kê khi có observe.</translation>
    </message>
    <message>
        <source>%1 is unknown: nothing of the kind was counted</source>
        <translation>%1: không rõ, không đếm gì thuộc loại này</translation>
    </message>
    <message>
        <source>. Red: in trouble; ×: not finite; empty: unknown. Observed steps: %1</source>
        <translation>. Đỏ: có vấn đề; ×: không hữu hạn; trống: không rõ. Số bước được quan sát: %1</translation>
    </message>
    <message>
        <source>, read: %1</source>
        <translation>, đã đọc: %1</translation>
    </message>
    <message>
        <source>; layers left out, farthest from trouble: %1</source>
        <translation>; số lớp không hiện, xa vấn đề nhất: %1</translation>
    </message>
    <message>
        <source>nearest to the edges of their formats</source>
        <translation>gần biên của định dạng nhất</translation>
    </message>
    <message>
        <source>%1, step %2</source>
        <translation>%1, bước %2</translation>
    </message>
    <message>
        <source>binary exponent: values from 2^e to 2^(e + 1)</source>
        <translation>số mũ nhị phân: giá trị từ 2^e đến 2^(e + 1)</translation>
    </message>
    <message>
        <source>elements</source>
        <translation>số phần tử</translation>
    </message>
    <message>
        <source>No histogram is on record.</source>
        <translation>Không có biểu đồ tần suất nào được ghi.</translation>
    </message>
    <message>
        <source>from 2^%1 to 2^%2: %3 elements [%4]</source>
        <translation>từ 2^%1 đến 2^%2: %3 phần tử [%4]</translation>
    </message>
</context>
<context>
    <name>OverflowsPanel</name>
    <message>
        <source>Overflows</source>
        <translation>Tràn số</translation>
    </message>
    <message>
        <source>Kind</source>
        <translation>Loại</translation>
    </message>
    <message>
        <source>Mode</source>
        <translation>Chế độ</translation>
    </message>
    <message>
        <source>Layer</source>
        <translation>Lớp</translation>
    </message>
    <message>
        <source>Diagnosis</source>
        <translation>Chẩn đoán</translation>
    </message>
    <message>
        <source>What the operation reads and makes</source>
        <translation>Phép toán đọc gì và tạo ra gì</translation>
    </message>
    <message>
        <source>all</source>
        <translation>tất cả</translation>
    </message>
    <message>
        <source>reading …</source>
        <translation>đang đọc …</translation>
    </message>
    <message>
        <source>no run is on record</source>
        <translation>không có lần chạy nào được ghi</translation>
    </message>
    <message>
        <source>The gradients of every recorded step were finite.</source>
        <translation>Gradient của mọi bước được ghi đều hữu hạn.</translation>
    </message>
    <message>
        <source>overflows: %1 of %2</source>
        <translation>số lần tràn: %1 trên %2</translation>
    </message>
    <message>
        <source> (of a run the first %1 are listed)</source>
        <translation> (mỗi lần chạy chỉ liệt kê %1 lần đầu)</translation>
    </message>
    <message>
        <source>The operation is unknown.</source>
        <translation>Không rõ phép toán.</translation>
    </message>
    <message>
        <source>%1: %2</source>
        <translation>%1: %2</translation>
    </message>
    <message>
        <source>, computed in %1</source>
        <translation>, tính bằng %1</translation>
    </message>
</context>
<context>
    <name>OverviewPanel</name>
    <message>
        <source>Modes side by side</source>
        <translation>Các chế độ đặt cạnh nhau</translation>
    </message>
    <message>
        <source>No file is open.</source>
        <translation>Chưa mở tệp nào.</translation>
    </message>
    <message>
        <source>Reading…</source>
        <translation>Đang đọc…</translation>
    </message>
    <message>
        <source>Recorded by %1</source>
        <translation>Được ghi bởi %1</translation>
    </message>
    <message>
        <source>There is no run in this file yet.</source>
        <translation>Trong tệp này chưa có lần chạy nào.</translation>
    </message>
    <message>
        <source>%1: %2</source>
        <comment>verdict: reason</comment>
        <translation>%1: %2</translation>
    </message>
</context>
<context>
    <name>QAbstractSpinBox</name>
    <message>
        <source>&amp;Step up</source>
        <translation>&amp;Tăng</translation>
    </message>
    <message>
        <source>Step &amp;down</source>
        <translation>&amp;Giảm</translation>
    </message>
    <message>
        <source>&amp;Select All</source>
        <translation>&amp;Chọn tất cả</translation>
    </message>
</context>
<context>
    <name>QDialogButtonBox</name>
    <message>
        <source>OK</source>
        <translation>OK</translation>
    </message>
</context>
<context>
    <name>QDockWidget</name>
    <message>
        <source>Float</source>
        <translation>Tách rời</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>Đóng</translation>
    </message>
    <message>
        <source>Undocks and re-attaches the dock widget</source>
        <translation>Tách bảng ra và gắn lại</translation>
    </message>
    <message>
        <source>Closes the dock widget</source>
        <translation>Đóng bảng này</translation>
    </message>
</context>
<context>
    <name>QFileDialog</name>
    <message>
        <source>Look in:</source>
        <translation>Tìm trong:</translation>
    </message>
    <message>
        <source>File &amp;name:</source>
        <translation>Tê&amp;n tệp:</translation>
    </message>
    <message>
        <source>Files of type:</source>
        <translation>Loại tệp:</translation>
    </message>
    <message>
        <source>Directory:</source>
        <translation>Thư mục:</translation>
    </message>
    <message>
        <source>&amp;Open</source>
        <translation>&amp;Mở</translation>
    </message>
    <message>
        <source>&amp;Save</source>
        <translation>&amp;Lưu</translation>
    </message>
    <message>
        <source>&amp;Choose</source>
        <translation>&amp;Chọn</translation>
    </message>
    <message>
        <source>Open</source>
        <translation>Mở</translation>
    </message>
    <message>
        <source>Save As</source>
        <translation>Lưu thành</translation>
    </message>
    <message>
        <source>Find Directory</source>
        <translation>Tìm thư mục</translation>
    </message>
    <message>
        <source>Back</source>
        <translation>Lùi</translation>
    </message>
    <message>
        <source>Forward</source>
        <translation>Tiến</translation>
    </message>
    <message>
        <source>Parent Directory</source>
        <translation>Thư mục cha</translation>
    </message>
    <message>
        <source>Create New Folder</source>
        <translation>Tạo thư mục mới</translation>
    </message>
    <message>
        <source>List View</source>
        <translation>Dạng danh sách</translation>
    </message>
    <message>
        <source>Detail View</source>
        <translation>Dạng chi tiết</translation>
    </message>
    <message>
        <source>Go back</source>
        <translation>Lùi lại</translation>
    </message>
    <message>
        <source>Go forward</source>
        <translation>Tiến tới</translation>
    </message>
    <message>
        <source>Go to the parent directory</source>
        <translation>Đến thư mục cha</translation>
    </message>
    <message>
        <source>Create a New Folder</source>
        <translation>Tạo một thư mục mới</translation>
    </message>
    <message>
        <source>Change to list view mode</source>
        <translation>Chuyển sang dạng danh sách</translation>
    </message>
    <message>
        <source>Change to detail view mode</source>
        <translation>Chuyển sang dạng chi tiết</translation>
    </message>
    <message>
        <source>Show &amp;hidden files</source>
        <translation>Hiện tệp ẩ&amp;n</translation>
    </message>
    <message>
        <source>&amp;New Folder</source>
        <translation>&amp;Thư mục mới</translation>
    </message>
    <message>
        <source>New Folder</source>
        <translation>Thư mục mới</translation>
    </message>
    <message>
        <source>&amp;Rename</source>
        <translation>Đổ&amp;i tên</translation>
    </message>
    <message>
        <source>&amp;Delete</source>
        <translation>&amp;Xóa</translation>
    </message>
    <message>
        <source>Sidebar</source>
        <translation>Thanh bên</translation>
    </message>
    <message>
        <source>Recent Places</source>
        <translation>Nơi gần đây</translation>
    </message>
    <message>
        <source>All Files (*)</source>
        <translation>Mọi tệp (*)</translation>
    </message>
    <message>
        <source>%1 already exists.
Do you want to replace it?</source>
        <translation>%1 đã có sẵn.
Bạn có muốn thay nó không?</translation>
    </message>
    <message>
        <source>%1
File not found.
Please verify the correct file name was given.</source>
        <translation>%1
Không tìm thấy tệp.
Hãy kiểm tra lại tên tệp.</translation>
    </message>
    <message>
        <source>%1
Directory not found.
Please verify the correct directory name was given.</source>
        <translation>%1
Không tìm thấy thư mục.
Hãy kiểm tra lại tên thư mục.</translation>
    </message>
</context>
<context>
    <name>QFileSystemModel</name>
    <message>
        <source>Name</source>
        <translation>Tên</translation>
    </message>
    <message>
        <source>Size</source>
        <translation>Kích cỡ</translation>
    </message>
    <message>
        <source>Type</source>
        <translation>Loại</translation>
    </message>
    <message>
        <source>Date Modified</source>
        <translation>Ngày sửa đổi</translation>
    </message>
</context>
<context>
    <name>QLineEdit</name>
    <message>
        <source>&amp;Undo</source>
        <translation>&amp;Hoàn tác</translation>
    </message>
    <message>
        <source>&amp;Redo</source>
        <translation>&amp;Làm lại</translation>
    </message>
    <message>
        <source>Cu&amp;t</source>
        <translation>&amp;Cắt</translation>
    </message>
    <message>
        <source>&amp;Copy</source>
        <translation>&amp;Sao chép</translation>
    </message>
    <message>
        <source>&amp;Paste</source>
        <translation>&amp;Dán</translation>
    </message>
    <message>
        <source>Delete</source>
        <translation>Xóa</translation>
    </message>
    <message>
        <source>Select All</source>
        <translation>Chọn tất cả</translation>
    </message>
</context>
<context>
    <name>QPlatformTheme</name>
    <message>
        <source>OK</source>
        <translation>OK</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Hủy</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>Đóng</translation>
    </message>
    <message>
        <source>Open</source>
        <translation>Mở</translation>
    </message>
    <message>
        <source>Save</source>
        <translation>Lưu</translation>
    </message>
    <message>
        <source>&amp;Yes</source>
        <translation>&amp;Có</translation>
    </message>
    <message>
        <source>&amp;No</source>
        <translation>&amp;Không</translation>
    </message>
    <message>
        <source>Apply</source>
        <translation>Áp dụng</translation>
    </message>
    <message>
        <source>Reset</source>
        <translation>Đặt lại</translation>
    </message>
    <message>
        <source>Help</source>
        <translation>Trợ giúp</translation>
    </message>
    <message>
        <source>Discard</source>
        <translation>Bỏ thay đổi</translation>
    </message>
</context>
<context>
    <name>QTabBar</name>
    <message>
        <source>Scroll Left</source>
        <translation>Cuộn sang trái</translation>
    </message>
    <message>
        <source>Scroll Right</source>
        <translation>Cuộn sang phải</translation>
    </message>
</context>
<context>
    <name>QWidgetTextControl</name>
    <message>
        <source>&amp;Undo</source>
        <translation>&amp;Hoàn tác</translation>
    </message>
    <message>
        <source>&amp;Redo</source>
        <translation>&amp;Làm lại</translation>
    </message>
    <message>
        <source>Cu&amp;t</source>
        <translation>&amp;Cắt</translation>
    </message>
    <message>
        <source>&amp;Copy</source>
        <translation>&amp;Sao chép</translation>
    </message>
    <message>
        <source>Copy &amp;Link Location</source>
        <translation>Sao chép địa chỉ &amp;liên kết</translation>
    </message>
    <message>
        <source>&amp;Paste</source>
        <translation>&amp;Dán</translation>
    </message>
    <message>
        <source>Delete</source>
        <translation>Xóa</translation>
    </message>
    <message>
        <source>Select All</source>
        <translation>Chọn tất cả</translation>
    </message>
</context>
<context>
    <name>SavedPicture</name>
    <message>
        <source>%1: a chart is saved as .png, .svg, .pdf or .csv</source>
        <translation>%1: biểu đồ được lưu dưới dạng .png, .svg, .pdf hoặc .csv</translation>
    </message>
    <message>
        <source>%1: a chart is saved as .png, .pdf or .csv</source>
        <translation>%1: biểu đồ được lưu dưới dạng .png, .pdf hoặc .csv</translation>
    </message>
    <message>
        <source>%1 could not be written</source>
        <translation>Không ghi được %1</translation>
    </message>
    <message>
        <source>Picture (*.png)</source>
        <translation>Ảnh (*.png)</translation>
    </message>
    <message>
        <source>Drawing (*.svg)</source>
        <translation>Hình vẽ (*.svg)</translation>
    </message>
    <message>
        <source>Document (*.pdf)</source>
        <translation>Tài liệu (*.pdf)</translation>
    </message>
    <message>
        <source>Data (*.csv)</source>
        <translation>Dữ liệu (*.csv)</translation>
    </message>
</context>
<context>
    <name>Timeline</name>
    <message>
        <source>step %1</source>
        <translation>bước %1</translation>
    </message>
    <message>
        <source>%1, skipped</source>
        <translation>%1, bị bỏ qua</translation>
    </message>
    <message>
        <source>node %1</source>
        <translation>nút %1</translation>
    </message>
    <message>
        <source>%1, nodes counted</source>
        <translation>%1, các nút được đếm</translation>
    </message>
</context>
<context>
    <name>TimelinePanel</name>
    <message>
        <source>Timeline</source>
        <translation>Dòng thời gian</translation>
    </message>
    <message>
        <source>Run whose timeline is shown</source>
        <translation>Lần chạy có dòng thời gian đang hiện</translation>
    </message>
    <message>
        <source>What is shown of it</source>
        <translation>Phần được hiện</translation>
    </message>
    <message>
        <source>as recorded</source>
        <translation>như đã ghi</translation>
    </message>
    <message>
        <source>mean step</source>
        <translation>bước trung bình</translation>
    </message>
    <message>
        <source>search kernels, nodes, steps</source>
        <translation>tìm kernel, nút, bước</translation>
    </message>
    <message>
        <source>Part of the names of kernels, nodes and steps to find</source>
        <translation>Một phần tên của kernel, nút và bước cần tìm</translation>
    </message>
    <message>
        <source>Part of the names of kernels, nodes and steps to find (Ctrl+F in the timeline); Return: the next one</source>
        <translation>Một phần tên của kernel, nút và bước cần tìm (Ctrl+F trong dòng thời gian); Enter: mục kế tiếp</translation>
    </message>
    <message>
        <source>The one before that is found (Shift+Return)</source>
        <translation>Mục tìm thấy trước đó (Shift+Return)</translation>
    </message>
    <message>
        <source>The next one that is found (Return)</source>
        <translation>Mục tìm thấy kế tiếp (Return)</translation>
    </message>
    <message>
        <source>Sums by name</source>
        <translation>Tổng theo tên</translation>
    </message>
    <message>
        <source>A double click, or Return, leads to the longest of a name</source>
        <translation>Nhấp đúp, hoặc Enter, để đến đoạn dài nhất mang tên đó</translation>
    </message>
    <message>
        <source>The chosen span</source>
        <translation>Đoạn đã chọn</translation>
    </message>
    <message>
        <source>Choose a span to see all that is on record of it.</source>
        <translation>Chọn một đoạn để xem mọi thứ đã ghi về nó.</translation>
    </message>
    <message>
        <source>reading …</source>
        <translation>đang đọc …</translation>
    </message>
    <message>
        <source>%1 of %2</source>
        <translation>%1 trên %2</translation>
    </message>
    <message>
        <source>found: %1</source>
        <translation>tìm thấy: %1</translation>
    </message>
    <message>
        <source>That is what is in view; Shift and the mouse take a range.</source>
        <translation>Đó là phần đang nhìn thấy; giữ Shift và kéo chuột để chọn một khoảng.</translation>
    </message>
    <message>
        <source>The %1 names of the most time, of %2.</source>
        <translation>%1 tên tốn nhiều thời gian nhất, trên %2.</translation>
    </message>
</context>
<context>
    <name>TimelineTexts</name>
    <message>
        <source>steps</source>
        <translation>số bước</translation>
    </message>
    <message>
        <source>passes, laid out</source>
        <translation>các lượt, xếp theo thứ tự</translation>
    </message>
    <message>
        <source>passes</source>
        <translation>các lượt</translation>
    </message>
    <message>
        <source>nodes, laid out</source>
        <translation>các nút, xếp theo thứ tự</translation>
    </message>
    <message>
        <source>nodes</source>
        <translation>các nút</translation>
    </message>
    <message>
        <source>kernels, stream %1</source>
        <translation>kernel, luồng %1</translation>
    </message>
    <message>
        <source>How long each took is [%1]; they are laid out one after the other in the order of the plan: when each began is not on record.</source>
        <translation>Thời lượng của mỗi cái là [%1]; chúng được xếp lần lượt theo thứ tự của kế hoạch: không ghi lúc mỗi cái bắt đầu.</translation>
    </message>
    <message>
        <source>Wall time of each step [%1]. Steps follow one another; one whose kernels were traced begins where the first of them did, or at the end of the step before.</source>
        <translation>Thời gian thực của mỗi bước [%1]. Các bước nối tiếp nhau; bước có kernel được theo dõi bắt đầu ở kernel đầu tiên, hoặc ở cuối bước trước.</translation>
    </message>
    <message>
        <source>From the first kernel of a pass to the end of its last [%1].</source>
        <translation>Từ kernel đầu tiên của một lượt đến hết kernel cuối cùng [%1].</translation>
    </message>
    <message>
        <source>From the first kernel of a node to the end of its last, or to where the next node begins [%1].</source>
        <translation>Từ kernel đầu tiên của một nút đến hết kernel cuối cùng, hoặc đến lúc nút kế tiếp bắt đầu [%1].</translation>
    </message>
    <message>
        <source>Kernels as the GPU ran them [%1].</source>
        <translation>Các kernel như GPU đã chạy [%1].</translation>
    </message>
    <message>
        <source>kernel trace refused: %1</source>
        <translation>bị từ chối theo dõi kernel: %1</translation>
    </message>
    <message>
        <source>The mean of %1 sampled steps. Nodes are laid out one after the other in the order of the plan: how long each took is on record, when it began is not.</source>
        <translation>Trung bình của %1 bước được lấy mẫu. Các nút được xếp lần lượt theo thứ tự của kế hoạch: có ghi mỗi nút mất bao lâu, không ghi lúc nó bắt đầu.</translation>
    </message>
    <message>
        <source>No node of this run was timed.</source>
        <translation>Không nút nào của lần chạy này được đo thời gian.</translation>
    </message>
    <message>
        <source>times of nodes left out, because they are no finite number: %1</source>
        <translation>số thời gian của nút bị bỏ ra vì không phải số hữu hạn: %1</translation>
    </message>
    <message>
        <source>steps without a time, drawn as 1 ms each: %1</source>
        <translation>số bước không có thời gian, mỗi bước vẽ như 1 ms: %1</translation>
    </message>
    <message>
        <source>Nodes were summed up over sampled steps: the mean step shows them.</source>
        <translation>Các nút được cộng trên những bước lấy mẫu: bước trung bình hiện chúng.</translation>
    </message>
    <message>
        <source>Only the first %1 kernels of this run are shown.</source>
        <translation>Chỉ hiện %1 kernel đầu tiên của lần chạy này.</translation>
    </message>
    <message>
        <source>No kernels: this run was on a CPU, which has none. A run on a GPU traces them: ulpscope run EXPERIMENT.toml --set run.device=cuda</source>
        <translation>Không có kernel: lần chạy này trên CPU, vốn không có kernel. Lần chạy trên GPU sẽ theo dõi chúng: ulpscope run EXPERIMENT.toml --set run.device=cuda</translation>
    </message>
    <message>
        <source>No kernels: the file that was imported holds none. Those of a profiler&apos;s trace come with ulpscope import TRACE</source>
        <translation>Không có kernel: tệp đã nhập không chứa kernel nào. Kernel trong bản theo dõi của trình đo được nhập bằng ulpscope import TRACE</translation>
    </message>
    <message>
        <source>No kernels were recorded in this run.</source>
        <translation>Lần chạy này không ghi kernel nào.</translation>
    </message>
    <message>
        <source>row</source>
        <translation>hàng</translation>
    </message>
    <message>
        <source>time unknown; drawn as 1 ms</source>
        <translation>không rõ thời gian; vẽ như 1 ms</translation>
    </message>
    <message>
        <source>time</source>
        <translation>thời gian</translation>
    </message>
    <message>
        <source>laid out at</source>
        <translation>đặt tại</translation>
    </message>
    <message>
        <source>began</source>
        <translation>bắt đầu</translation>
    </message>
    <message>
        <source>%1 after the start of the run</source>
        <translation>%1 sau khi bắt đầu chạy</translation>
    </message>
    <message>
        <source>drawn at</source>
        <translation>vẽ tại</translation>
    </message>
    <message>
        <source>begins</source>
        <translation>bắt đầu</translation>
    </message>
    <message>
        <source>drawn %1 later: the step before was not over</source>
        <translation>vẽ muộn hơn %1: bước trước chưa kết thúc</translation>
    </message>
    <message>
        <source>node</source>
        <translation>nút</translation>
    </message>
    <message>
        <source>operation</source>
        <translation>phép toán</translation>
    </message>
    <message>
        <source>computed in</source>
        <translation>tính bằng</translation>
    </message>
    <message>
        <source>pass</source>
        <translation>lượt</translation>
    </message>
    <message>
        <source>kind</source>
        <translation>loại</translation>
    </message>
    <message>
        <source>step</source>
        <translation>bước</translation>
    </message>
    <message>
        <source>exactly</source>
        <translation>chính xác</translation>
    </message>
    <message>
        <source>grid</source>
        <translation>lưới (grid)</translation>
    </message>
    <message>
        <source>block</source>
        <translation>khối (block)</translation>
    </message>
    <message>
        <source>registers of a thread</source>
        <translation>số thanh ghi của một luồng</translation>
    </message>
    <message>
        <source>shared memory of a block, static</source>
        <translation>bộ nhớ chia sẻ của một khối, tĩnh</translation>
    </message>
    <message>
        <source>shared memory of a block, dynamic</source>
        <translation>bộ nhớ chia sẻ của một khối, động</translation>
    </message>
    <message>
        <source>tensor pipes active</source>
        <translation>đường ống tensor hoạt động</translation>
    </message>
    <message>
        <source>correlation</source>
        <translation>mã tương quan</translation>
    </message>
    <message>
        <source>%1, %2 from %3 on: %4 spans, %5 together [%6], %7 of the range</source>
        <translation>%1, %2 từ %3: %4 đoạn, tổng cộng %5 [%6], %7 của khoảng</translation>
    </message>
    <message>
        <source>steps without a wall time, drawn as long as their kernels or nodes: %1</source>
        <translation>số bước không có thời gian thực, vẽ dài bằng các kernel hoặc nút của chúng: %1</translation>
    </message>
    <message>
        <source>time unknown; drawn as long as its kernels or nodes</source>
        <translation>không rõ thời gian; vẽ dài bằng các kernel hoặc nút của nó</translation>
    </message>
    <message>
        <source>%1, %2 from %3 on: how long they took is unknown; steps without a wall time: %4</source>
        <translation>%1, %2 từ %3: không rõ đã mất bao lâu; số bước không có thời gian thực: %4</translation>
    </message>
    <message>
        <source>%1; left out, without a wall time: %2</source>
        <translation>%1; bị bỏ ra vì không có thời gian thực: %2</translation>
    </message>
    <message>
        <source>no step&apos;s time: its nodes were counted one after the other by the GPU&apos;s hardware counters</source>
        <translation>không phải thời gian của một bước: các nút của nó được đếm lần lượt bằng bộ đếm phần cứng của GPU</translation>
    </message>
    <message>
        <source>that share is of all kernels of this node together, for a micro-batch, in another step</source>
        <translation>tỉ lệ đó là của tất cả kernel của nút này gộp lại, trong một micro-batch, ở một bước khác</translation>
    </message>
</context>
<context>
    <name>curves</name>
    <message>
        <source>Training loss</source>
        <translation>Loss huấn luyện</translation>
    </message>
    <message>
        <source>Held-out loss</source>
        <translation>Loss trên tập kiểm định</translation>
    </message>
    <message>
        <source>Gradient norm</source>
        <translation>Chuẩn của gradient</translation>
    </message>
    <message>
        <source>Learning rate</source>
        <translation>Tốc độ học</translation>
    </message>
    <message>
        <source>Step time</source>
        <translation>Thời gian một bước</translation>
    </message>
    <message>
        <source>%1: %2 (steps: %3)</source>
        <translation>%1: %2 (số bước: %3)</translation>
    </message>
</context>
<context>
    <name>numerics</name>
    <message>
        <source>Head-room</source>
        <translation>Khoảng dư</translation>
    </message>
    <message>
        <source>bits between the greatest magnitude of a result and its format&apos;s limit; below 0: beyond it</source>
        <translation>số bit giữa độ lớn lớn nhất của một kết quả và giới hạn định dạng của nó; dưới 0: đã vượt quá</translation>
    </message>
    <message>
        <source>Flushed share</source>
        <translation>Tỉ lệ bị đưa về 0</translation>
    </message>
    <message>
        <source>share of the non-zero elements of the gradients that became zero</source>
        <translation>tỉ lệ phần tử khác 0 của gradient đã thành 0</translation>
    </message>
    <message>
        <source>Error</source>
        <translation>Sai số</translation>
    </message>
    <message>
        <source>relative RMS difference of a tensor from the fp32 shadow step</source>
        <translation>sai khác RMS tương đối của một tensor so với bước fp32 song song</translation>
    </message>
    <message>
        <source>Rounding</source>
        <translation>Làm tròn</translation>
    </message>
    <message>
        <source>RMS of what rounding changed in a result ÷ its RMS</source>
        <translation>RMS của phần thay đổi do làm tròn trong kết quả ÷ RMS của kết quả</translation>
    </message>
    <message>
        <source>Lost updates</source>
        <translation>Cập nhật bị mất</translation>
    </message>
    <message>
        <source>share of the weights whose update was rounded away</source>
        <translation>tỉ lệ trọng số có cập nhật bị làm tròn mất</translation>
    </message>
    <message>
        <source>%1 bits</source>
        <translation>%1 bit</translation>
    </message>
    <message>
        <source>step %1</source>
        <translation>bước %1</translation>
    </message>
    <message>
        <source>steps %1 … %2</source>
        <translation>các bước %1 … %2</translation>
    </message>
    <message>
        <source>values that are not finite once they are stored [%1]</source>
        <translation>các giá trị không hữu hạn sau khi lưu [%1]</translation>
    </message>
    <message>
        <source>made by %1</source>
        <translation>tạo bởi %1</translation>
    </message>
    <message>
        <source>%1 (%2), step %3: greatest magnitude %4, head-room %5, zero %6, flushed to zero %7, overflowed %8, not finite %9 of %10 elements [%11]</source>
        <translation>%1 (%2), bước %3: độ lớn lớn nhất %4, khoảng dư %5, bằng 0 %6, bị đưa về 0 %7, tràn số %8, không hữu hạn %9 trên %10 phần tử [%11]</translation>
    </message>
</context>
<context>
    <name>panels</name>
    <message>
        <source>Overview</source>
        <translation>Tổng quan</translation>
    </message>
    <message>
        <source>Curves</source>
        <translation>Đường cong</translation>
    </message>
    <message>
        <source>Loss scale</source>
        <translation>Loss scale</translation>
    </message>
    <message>
        <source>Numerics</source>
        <translation>Số học</translation>
    </message>
    <message>
        <source>Overflows</source>
        <translation>Tràn số</translation>
    </message>
    <message>
        <source>Memory</source>
        <translation>Bộ nhớ</translation>
    </message>
    <message>
        <source>Nodes</source>
        <translation>Các nút</translation>
    </message>
    <message>
        <source>Generations</source>
        <translation>Các thế hệ</translation>
    </message>
    <message>
        <source>Timeline</source>
        <translation>Dòng thời gian</translation>
    </message>
</context>
<context>
    <name>report</name>
    <message>
        <source>%1: a report is written as .pdf or .html</source>
        <translation>%1: báo cáo được ghi dưới dạng .pdf hoặc .html</translation>
    </message>
    <message>
        <source>%1 is a run file, or another database, and is not replaced</source>
        <translation>%1 là một tệp chạy, hoặc một cơ sở dữ liệu khác, nên không bị thay</translation>
    </message>
    <message>
        <source>%1 could not be written: %2</source>
        <translation>Không ghi được %1: %2</translation>
    </message>
</context>
<context>
    <name>text</name>
    <message>
        <source>range</source>
        <translation>khoảng</translation>
    </message>
    <message>
        <source>samples</source>
        <translation>số mẫu</translation>
    </message>
    <message>
        <source>it is</source>
        <translation>loại số liệu</translation>
    </message>
</context>
<context>
    <name>ulpscope::gui::Chart</name>
    <message>
        <source>nothing on record</source>
        <translation>không có gì được ghi</translation>
    </message>
    <message>
        <source>Undo zoom</source>
        <translation>Hoàn tác thu phóng</translation>
    </message>
    <message>
        <source>Show everything</source>
        <translation>Hiện tất cả</translation>
    </message>
    <message>
        <source>Copy picture</source>
        <translation>Sao chép ảnh</translation>
    </message>
    <message>
        <source>Copy data (CSV)</source>
        <translation>Sao chép dữ liệu (CSV)</translation>
    </message>
    <message>
        <source>Save as…</source>
        <translation>Lưu thành…</translation>
    </message>
    <message>
        <source>Save chart</source>
        <translation>Lưu biểu đồ</translation>
    </message>
</context>
<context>
    <name>ulpscope::gui::FilterBar</name>
    <message>
        <source>first</source>
        <translation>đầu</translation>
    </message>
    <message>
        <source>First step to show</source>
        <translation>Bước đầu tiên cần hiện</translation>
    </message>
    <message>
        <source>last</source>
        <translation>cuối</translation>
    </message>
    <message>
        <source>Last step to show</source>
        <translation>Bước cuối cùng cần hiện</translation>
    </message>
    <message>
        <source>node or tensor</source>
        <translation>nút hoặc tensor</translation>
    </message>
    <message>
        <source>Part of the names of nodes and tensors to show</source>
        <translation>Một phần tên của các nút và tensor cần hiện</translation>
    </message>
    <message>
        <source>Clear filter</source>
        <translation>Xóa bộ lọc</translation>
    </message>
    <message>
        <source>Steps</source>
        <translation>Số bước</translation>
    </message>
    <message>
        <source>to</source>
        <translation>đến</translation>
    </message>
    <message>
        <source>Names</source>
        <translation>Tên</translation>
    </message>
</context>
<context>
    <name>ulpscope::gui::FirstPage</name>
    <message>
        <source>ulpscope</source>
        <translation>ulpscope</translation>
    </message>
    <message>
        <source>Which precision mode for this model? What overflows, and where? What does it cost?
Open a recording (.ulp), drop one here, or make one.</source>
        <translation>Chế độ chính xác nào cho mô hình này? Cái gì tràn số, và ở đâu? Tốn bao nhiêu?
Hãy mở một bản ghi (.ulp), thả vào đây, hoặc tạo mới.</translation>
    </message>
    <message>
        <source>Recent files</source>
        <translation>Tệp gần đây</translation>
    </message>
</context>
<context>
    <name>ulpscope::gui::MachinesModel</name>
    <message>
        <source>%1 holds no run</source>
        <translation>%1 không chứa lần chạy nào</translation>
    </message>
    <message>
        <source>why there is no ratio</source>
        <translation>vì sao không có tỉ số</translation>
    </message>
    <message>
        <source>%1 (%2)</source>
        <comment>a value and what it is</comment>
        <translation>%1 (%2)</translation>
    </message>
    <message>
        <source>The machine has no runs of %1.</source>
        <translation>Máy này không có lần chạy nào của %1.</translation>
    </message>
    <message>
        <source>%1: %2 [%3]</source>
        <translation>%1: %2 [%3]</translation>
    </message>
    <message>
        <source>from %1 to %2</source>
        <translation>từ %1 đến %2</translation>
    </message>
    <message>
        <source>By mode</source>
        <translation>Theo chế độ</translation>
    </message>
</context>
<context>
    <name>ulpscope::gui::MainWindow</name>
    <message>
        <source>%1 could not be written: %2</source>
        <translation>Không ghi được %1: %2</translation>
    </message>
    <message>
        <source>Export report</source>
        <translation>Xuất báo cáo</translation>
    </message>
    <message>
        <source>Web page (*.html)</source>
        <translation>Trang web (*.html)</translation>
    </message>
    <message>
        <source>Writing %1 …</source>
        <translation>Đang ghi %1 …</translation>
    </message>
    <message>
        <source>The report is in %1</source>
        <translation>Báo cáo nằm ở %1</translation>
    </message>
    <message>
        <source>&amp;View</source>
        <translation>&amp;Xem</translation>
    </message>
    <message>
        <source>&amp;Colours</source>
        <translation>&amp;Màu sắc</translation>
    </message>
    <message>
        <source>As the system</source>
        <translation>Theo hệ thống</translation>
    </message>
    <message>
        <source>Light</source>
        <translation>Sáng</translation>
    </message>
    <message>
        <source>Dark</source>
        <translation>Tối</translation>
    </message>
    <message>
        <source>&amp;Language</source>
        <translation>&amp;Ngôn ngữ</translation>
    </message>
    <message>
        <source>&amp;First layout</source>
        <translation>Bố cục &amp;ban đầu</translation>
    </message>
    <message>
        <source>A run is going on: the language changes when the viewer is started anew</source>
        <translation>Đang có lần chạy: ngôn ngữ sẽ đổi khi khởi động lại trình xem</translation>
    </message>
    <message>
        <source>&amp;Run</source>
        <translation>&amp;Chạy</translation>
    </message>
    <message>
        <source>&amp;New run…</source>
        <translation>Lần chạy &amp;mới…</translation>
    </message>
    <message>
        <source>&amp;Resume</source>
        <translation>&amp;Tiếp tục</translation>
    </message>
    <message>
        <source>Goes on with the current file, which was interrupted or cut off</source>
        <translation>Chạy tiếp tệp hiện tại, vốn bị dừng hoặc bị ngắt giữa chừng</translation>
    </message>
    <message>
        <source>&amp;Stop</source>
        <translation>&amp;Dừng</translation>
    </message>
    <message>
        <source>Run the &amp;demo</source>
        <translation>Chạy &amp;bản minh họa</translation>
    </message>
    <message>
        <source>&amp;Help</source>
        <translation>Trợ &amp;giúp</translation>
    </message>
    <message>
        <source>&amp;About</source>
        <translation>&amp;Giới thiệu</translation>
    </message>
    <message>
        <source>About ulpscope</source>
        <translation>Giới thiệu ulpscope</translation>
    </message>
    <message>
        <source>&lt;p&gt;&lt;b&gt;ulpscope %1&lt;/b&gt;: the viewer of recordings.&lt;/p&gt;&lt;p&gt;The viewer is free software under the GNU General Public License, version 3, as QCustomPlot is, with which it draws. It comes without any warranty.&lt;/p&gt;</source>
        <translation>&lt;p&gt;&lt;b&gt;ulpscope %1&lt;/b&gt;: trình xem các bản ghi.&lt;/p&gt;&lt;p&gt;Trình xem là phần mềm tự do theo Giấy phép Công cộng GNU, phiên bản 3, giống như QCustomPlot mà nó dùng để vẽ. Phần mềm không kèm theo bất kỳ bảo đảm nào.&lt;/p&gt;</translation>
    </message>
    <message>
        <source>About &amp;Qt</source>
        <translation>Giới thiệu &amp;Qt</translation>
    </message>
    <message>
        <source>The run ended with exit code %1</source>
        <translation>Lần chạy kết thúc với mã thoát %1</translation>
    </message>
    <message>
        <source>Show the log</source>
        <translation>Hiện nhật ký</translation>
    </message>
    <message>
        <source>A run is going on</source>
        <translation>Đang có lần chạy</translation>
    </message>
    <message>
        <source>The run was asked to stop and ends after its step.</source>
        <translation>Lần chạy đã được yêu cầu dừng và sẽ kết thúc sau bước này.</translation>
    </message>
    <message>
        <source>A run that was started here is still going on.</source>
        <translation>Một lần chạy bắt đầu từ đây vẫn đang diễn ra.</translation>
    </message>
    <message>
        <source>Stopped, it ends after its step, and Run → Resume goes on with it. Left to go on, it needs no viewer; its messages go to %1.</source>
        <translation>Nếu dừng, nó kết thúc sau bước này và có thể chạy tiếp bằng Chạy → Tiếp tục. Nếu để chạy tiếp, nó không cần trình xem; thông báo của nó được ghi vào %1.</translation>
    </message>
    <message>
        <source>Stop it and close</source>
        <translation>Dừng rồi đóng</translation>
    </message>
    <message>
        <source>Let it go on and close</source>
        <translation>Để chạy tiếp và đóng</translation>
    </message>
    <message>
        <source>Do not close</source>
        <translation>Không đóng</translation>
    </message>
    <message>
        <source>The run ends after its step; then the window closes</source>
        <translation>Lần chạy kết thúc sau bước này; sau đó cửa sổ đóng lại</translation>
    </message>
    <message>
        <source>The demo&apos;s experiment (examples/demo.toml) is not where the viewer looks for it: beside its build, or in share/ulpscope</source>
        <translation>Thí nghiệm minh họa (examples/demo.toml) không nằm ở nơi trình xem tìm: cạnh bản dựng của nó, hoặc trong share/ulpscope</translation>
    </message>
    <message>
        <source>The folder %1 cannot be made</source>
        <translation>Không tạo được thư mục %1</translation>
    </message>
    <message>
        <source>ulpscope</source>
        <translation>ulpscope</translation>
    </message>
    <message>
        <source>Open a recording…</source>
        <translation>Mở một bản ghi…</translation>
    </message>
    <message>
        <source>a run file (.ulp) that was made before, or is being made now</source>
        <translation>một tệp chạy (.ulp) đã có từ trước, hoặc đang được ghi</translation>
    </message>
    <message>
        <source>Run the demo</source>
        <translation>Chạy bản minh họa</translation>
    </message>
    <message>
        <source>trains a small model in four precision modes, for about a minute, and shows it while it runs</source>
        <translation>huấn luyện một mô hình nhỏ ở bốn chế độ chính xác, khoảng một phút, và hiện kết quả trong khi chạy</translation>
    </message>
    <message>
        <source>New run…</source>
        <translation>Lần chạy mới…</translation>
    </message>
    <message>
        <source>your model and data, in the modes you choose</source>
        <translation>mô hình và dữ liệu của bạn, ở các chế độ bạn chọn</translation>
    </message>
    <message>
        <source>Filter</source>
        <translation>Bộ lọc</translation>
    </message>
    <message>
        <source>Runs</source>
        <translation>Các lần chạy</translation>
    </message>
    <message>
        <source>Run log</source>
        <translation>Nhật ký chạy</translation>
    </message>
    <message>
        <source>&amp;File</source>
        <translation>&amp;Tệp</translation>
    </message>
    <message>
        <source>&amp;Open…</source>
        <translation>&amp;Mở…</translation>
    </message>
    <message>
        <source>Open &amp;recent</source>
        <translation>Mở &amp;gần đây</translation>
    </message>
    <message>
        <source>Re&amp;load</source>
        <translation>Tải &amp;lại</translation>
    </message>
    <message>
        <source>&amp;Close file</source>
        <translation>Đón&amp;g tệp</translation>
    </message>
    <message>
        <source>&amp;Export report…</source>
        <translation>&amp;Xuất báo cáo…</translation>
    </message>
    <message>
        <source>&amp;Find nodes</source>
        <translation>&amp;Tìm nút</translation>
    </message>
    <message>
        <source>&amp;Quit</source>
        <translation>T&amp;hoát</translation>
    </message>
    <message>
        <source>none yet</source>
        <translation>chưa có</translation>
    </message>
    <message>
        <source>Forget them</source>
        <translation>Quên danh sách này</translation>
    </message>
    <message>
        <source>Open a recording</source>
        <translation>Mở một bản ghi</translation>
    </message>
    <message>
        <source>Run files (*.ulp)</source>
        <translation>Tệp chạy (*.ulp)</translation>
    </message>
    <message>
        <source>All files (*)</source>
        <translation>Mọi tệp (*)</translation>
    </message>
    <message>
        <source>%1 is not a file on this machine</source>
        <translation>%1 không phải là tệp trên máy này</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>Thử lại</translation>
    </message>
    <message>
        <source>Close file</source>
        <translation>Đóng tệp</translation>
    </message>
    <message>
        <source>%1 – ulpscope</source>
        <translation>%1 – ulpscope</translation>
    </message>
    <message>
        <source>Document (*.pdf)</source>
        <translation>Tài liệu (*.pdf)</translation>
    </message>
    <message>
        <source>%1 is there already. Is it to be replaced?</source>
        <translation>%1 đã có sẵn. Có thay thế không?</translation>
    </message>
</context>
<context>
    <name>ulpscope::gui::MemoryModel</name>
    <message>
        <source>peak, as planned</source>
        <translation>đỉnh, theo kế hoạch</translation>
    </message>
    <message>
        <source>%1 bytes [%2]</source>
        <translation>%1 byte [%2]</translation>
    </message>
    <message>
        <source>of the memory plan, before the first step
%1</source>
        <translation>của kế hoạch bộ nhớ, trước bước đầu tiên
%1</translation>
    </message>
    <message>
        <source>peak ÷ fp32&apos;s, both without what was held to observe [%1]</source>
        <translation>đỉnh ÷ đỉnh của fp32, cả hai không tính phần giữ để quan sát [%1]</translation>
    </message>
    <message>
        <source>At the peak</source>
        <translation>Ở mức đỉnh</translation>
    </message>
    <message>
        <source>of %1, the run of the mode with the greatest peak</source>
        <translation>của %1, lần chạy có đỉnh lớn nhất trong chế độ này</translation>
    </message>
</context>
<context>
    <name>ulpscope::gui::MessageBar</name>
    <message>
        <source>Dismiss</source>
        <translation>Bỏ qua</translation>
    </message>
</context>
<context>
    <name>ulpscope::gui::ModesModel</name>
    <message>
        <source>none</source>
        <translation>không có</translation>
    </message>
    <message>
        <source>plain</source>
        <translation>thường</translation>
    </message>
    <message>
        <source>%1 (%2)</source>
        <comment>a value and what it is</comment>
        <translation>%1 (%2)</translation>
    </message>
</context>
<context>
    <name>ulpscope::gui::NodesModel</name>
    <message>
        <source>none here</source>
        <translation>không có ở đây</translation>
    </message>
    <message>
        <source>yes</source>
        <translation>có</translation>
    </message>
    <message>
        <source>no</source>
        <translation>không</translation>
    </message>
    <message>
        <source>not materialised</source>
        <translation>không lưu ra</translation>
    </message>
    <message>
        <source>in %1</source>
        <translation>trong %1</translation>
    </message>
    <message>
        <source>reads %1
writes %2</source>
        <translation>đọc %1
ghi %2</translation>
    </message>
    <message>
        <source>%1 FLOP of one call, from the shapes [%2]</source>
        <translation>%1 FLOP cho một lần gọi, tính từ kích thước [%2]</translation>
    </message>
    <message>
        <source>bytes of one call, from the shapes [%1]</source>
        <translation>số byte của một lần gọi, tính từ kích thước [%1]</translation>
    </message>
    <message>
        <source>launched together with %1, whose time holds this one&apos;s</source>
        <translation>khởi chạy cùng %1, thời gian của nó đã gồm phần này</translation>
    </message>
    <message>
        <source>%1 in a step [%2]</source>
        <translation>%1 trong một bước [%2]</translation>
    </message>
    <message>
        <source>#</source>
        <translation>#</translation>
    </message>
    <message>
        <source>Node</source>
        <translation>Nút</translation>
    </message>
    <message>
        <source>Operation</source>
        <translation>Phép toán</translation>
    </message>
    <message>
        <source>Phase</source>
        <translation>Pha</translation>
    </message>
    <message>
        <source>Formats</source>
        <translation>Định dạng</translation>
    </message>
    <message>
        <source>Computed in</source>
        <translation>Tính bằng</translation>
    </message>
    <message>
        <source>FLOP</source>
        <translation>FLOP</translation>
    </message>
    <message>
        <source>Read</source>
        <translation>Đọc</translation>
    </message>
    <message>
        <source>Written</source>
        <translation>Ghi</translation>
    </message>
    <message>
        <source>Tensor cores</source>
        <translation>Tensor core</translation>
    </message>
    <message>
        <source>Why this format</source>
        <translation>Vì sao định dạng này</translation>
    </message>
    <message>
        <source>Time in %1</source>
        <translation>Thời gian ở %1</translation>
    </message>
</context>
<context>
    <name>ulpscope::gui::NoticeFrame</name>
    <message>
        <source>Note</source>
        <translation>Ghi chú</translation>
    </message>
    <message>
        <source>Warning</source>
        <translation>Cảnh báo</translation>
    </message>
    <message>
        <source>Fault</source>
        <translation>Lỗi</translation>
    </message>
</context>
<context>
    <name>ulpscope::gui::OperandsModel</name>
    <message>
        <source>of %1 elements, in this step [%2]</source>
        <translation>trên %1 phần tử, ở bước này [%2]</translation>
    </message>
    <message>
        <source>not observed in this step</source>
        <translation>không được quan sát ở bước này</translation>
    </message>
    <message>
        <source>reads</source>
        <translation>đọc</translation>
    </message>
    <message>
        <source>makes</source>
        <translation>tạo</translation>
    </message>
    <message>
        <source>scalar</source>
        <translation>vô hướng</translation>
    </message>
    <message>
        <source>no operation: an input or a weight</source>
        <translation>không phép toán nào: đầu vào hoặc trọng số</translation>
    </message>
    <message>
        <source>nothing</source>
        <translation>không gì cả</translation>
    </message>
    <message>
        <source>Tensor</source>
        <translation>Tensor</translation>
    </message>
    <message>
        <source>Format</source>
        <translation>Định dạng</translation>
    </message>
    <message>
        <source>Shape</source>
        <translation>Kích thước</translation>
    </message>
    <message>
        <source>Made by, read by</source>
        <translation>Tạo bởi, đọc bởi</translation>
    </message>
    <message>
        <source>Not finite</source>
        <translation>Không hữu hạn</translation>
    </message>
    <message>
        <source>Greatest</source>
        <translation>Lớn nhất</translation>
    </message>
</context>
<context>
    <name>ulpscope::gui::OverflowsModel</name>
    <message>
        <source>Nothing was observed in this step, so that it is unknown where it began.</source>
        <translation>Không quan sát gì ở bước này, nên không rõ nó bắt đầu từ đâu.</translation>
    </message>
    <message>
        <source>In the observed tensors of this step no operation made a value that is not finite of finite ones.</source>
        <translation>Trong các tensor được quan sát ở bước này, không phép toán nào tạo ra giá trị không hữu hạn từ các giá trị hữu hạn.</translation>
    </message>
    <message>
        <source>It began in %1 (%2, %3): %4 elements of %5, in %6, are not finite; the greatest finite magnitude is %7 [%8].</source>
        <translation>Nó bắt đầu ở %1 (%2, %3): %4 phần tử của %5, ở %6, không hữu hạn; độ lớn hữu hạn lớn nhất là %7 [%8].</translation>
    </message>
    <message>
        <source>%1: %2 [%3]</source>
        <translation>%1: %2 [%3]</translation>
    </message>
    <message>
        <source>It reaches %1.</source>
        <translation>Nó lan tới %1.</translation>
    </message>
    <message numerus="yes">
        <source>%n more</source>
        <translation>
            <numerusform>%n mục nữa</numerusform>
        </translation>
    </message>
    <message>
        <source>From there on: %1</source>
        <translation>Từ đó: %1</translation>
    </message>
    <message>
        <source>What may help, what costs least first</source>
        <translation>Cách có thể khắc phục, ít tốn nhất trước</translation>
    </message>
    <message>
        <source>Verdict on %1</source>
        <translation>Kết luận về %1</translation>
    </message>
    <message>
        <source>%1: overflow in step %2</source>
        <translation>%1: tràn số ở bước %2</translation>
    </message>
    <message>
        <source>the step was skipped</source>
        <translation>bước bị bỏ qua</translation>
    </message>
    <message>
        <source>the step was applied all the same</source>
        <translation>bước vẫn được áp dụng</translation>
    </message>
    <message>
        <source>loss scale %1</source>
        <translation>loss scale %1</translation>
    </message>
    <message>
        <source>no loss scale on record</source>
        <translation>không có loss scale nào được ghi</translation>
    </message>
    <message>
        <source>A gradient was not finite: %1 (%2, loss %3) [%4].</source>
        <translation>Một gradient không hữu hạn: %1 (%2, loss %3) [%4].</translation>
    </message>
    <message>
        <source>Verdict on the run</source>
        <translation>Kết luận về lần chạy</translation>
    </message>
    <message>
        <source>none</source>
        <translation>không có</translation>
    </message>
    <message>
        <source>skipped</source>
        <translation>bị bỏ qua</translation>
    </message>
    <message>
        <source>applied</source>
        <translation>được áp dụng</translation>
    </message>
    <message>
        <source>A gradient of step %1 was not finite; the step was %2 [%3]</source>
        <translation>Một gradient của bước %1 không hữu hạn; bước này %2 [%3]</translation>
    </message>
    <message>
        <source>loss scale in force in the step [%1]</source>
        <translation>loss scale có hiệu lực ở bước này [%1]</translation>
    </message>
    <message>
        <source>No cause was found for this operation.</source>
        <translation>Không tìm thấy nguyên nhân cho phép toán này.</translation>
    </message>
    <message>
        <source>Nothing was observed in this step: where it began is unknown.</source>
        <translation>Không quan sát gì ở bước này: không rõ nó bắt đầu từ đâu.</translation>
    </message>
    <message>
        <source>elements that are not finite once they are stored [%1]</source>
        <translation>các phần tử không hữu hạn sau khi lưu [%1]</translation>
    </message>
    <message>
        <source>greatest magnitude of the finite elements, before rounding [%1]</source>
        <translation>độ lớn lớn nhất của các phần tử hữu hạn, trước khi làm tròn [%1]</translation>
    </message>
    <message>
        <source>In this step no operation was seen that made such a value of finite ones.</source>
        <translation>Ở bước này không thấy phép toán nào tạo ra giá trị như vậy từ các giá trị hữu hạn.</translation>
    </message>
    <message>
        <source>%1
the first operation that made a value that is not finite of finite ones [%2]</source>
        <translation>%1
phép toán đầu tiên tạo ra giá trị không hữu hạn từ các giá trị hữu hạn [%2]</translation>
    </message>
    <message>
        <source>Step</source>
        <translation>Bước</translation>
    </message>
    <message>
        <source>Run</source>
        <translation>Lần chạy</translation>
    </message>
    <message>
        <source>Began in</source>
        <translation>Bắt đầu ở</translation>
    </message>
    <message>
        <source>Operation</source>
        <translation>Phép toán</translation>
    </message>
    <message>
        <source>Phase</source>
        <translation>Pha</translation>
    </message>
    <message>
        <source>Tensor</source>
        <translation>Tensor</translation>
    </message>
    <message>
        <source>Format</source>
        <translation>Định dạng</translation>
    </message>
    <message>
        <source>Not finite</source>
        <translation>Không hữu hạn</translation>
    </message>
    <message>
        <source>Greatest</source>
        <translation>Lớn nhất</translation>
    </message>
    <message>
        <source>Loss scale</source>
        <translation>Loss scale</translation>
    </message>
    <message>
        <source>Step was</source>
        <translation>Bước này</translation>
    </message>
    <message>
        <source>Kind</source>
        <translation>Loại</translation>
    </message>
</context>
<context>
    <name>ulpscope::gui::RunDialog</name>
    <message>
        <source>New run</source>
        <translation>Lần chạy mới</translation>
    </message>
    <message>
        <source>Experiment file</source>
        <translation>Tệp thí nghiệm</translation>
    </message>
    <message>
        <source>none: model and data below</source>
        <translation>không có: dùng mô hình và dữ liệu bên dưới</translation>
    </message>
    <message>
        <source>Experiments (*.toml)</source>
        <translation>Thí nghiệm (*.toml)</translation>
    </message>
    <message>
        <source>as in the file</source>
        <translation>như trong tệp</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>Mô hình</translation>
    </message>
    <message>
        <source>Data</source>
        <translation>Dữ liệu</translation>
    </message>
    <message>
        <source>text files or folders, several with commas</source>
        <translation>tệp văn bản hoặc thư mục, cách nhau bằng dấu phẩy</translation>
    </message>
    <message>
        <source>Folder of texts</source>
        <translation>Thư mục văn bản</translation>
    </message>
    <message>
        <source>Modes</source>
        <translation>Chế độ</translation>
    </message>
    <message>
        <source>Steps</source>
        <translation>Số bước</translation>
    </message>
    <message>
        <source>A verdict needs 3</source>
        <translation>Cần 3 để có kết luận</translation>
    </message>
    <message>
        <source>Seeds</source>
        <translation>Seed</translation>
    </message>
    <message>
        <source>Run file</source>
        <translation>Tệp chạy</translation>
    </message>
    <message>
        <source>where it is recorded</source>
        <translation>nơi ghi bản ghi</translation>
    </message>
    <message>
        <source>Run files (*.ulp)</source>
        <translation>Tệp chạy (*.ulp)</translation>
    </message>
    <message>
        <source>replace the file if it is there</source>
        <translation>thay tệp nếu đã có</translation>
    </message>
    <message>
        <source>The same as a command</source>
        <translation>Cùng nội dung dưới dạng lệnh</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>Sao chép</translation>
    </message>
    <message>
        <source>As a command</source>
        <translation>Dạng lệnh</translation>
    </message>
    <message>
        <source>Start</source>
        <translation>Bắt đầu</translation>
    </message>
    <message>
        <source>Choose…</source>
        <translation>Chọn…</translation>
    </message>
    <message>
        <source>Choose: %1</source>
        <translation>Chọn: %1</translation>
    </message>
    <message>
        <source>None ticked: as in the file</source>
        <translation>Không đánh dấu: như trong tệp</translation>
    </message>
    <message>
        <source>There is no experiment file %1</source>
        <translation>Không có tệp thí nghiệm %1</translation>
    </message>
    <message>
        <source>Choose an experiment file, or a model and data</source>
        <translation>Hãy chọn tệp thí nghiệm, hoặc mô hình và dữ liệu</translation>
    </message>
    <message>
        <source>Choose the data to train on</source>
        <translation>Hãy chọn dữ liệu để huấn luyện</translation>
    </message>
    <message>
        <source>There is no file or folder %1</source>
        <translation>Không có tệp hay thư mục %1</translation>
    </message>
    <message>
        <source>Choose the run file</source>
        <translation>Hãy chọn tệp chạy</translation>
    </message>
    <message>
        <source>There is no folder %1</source>
        <translation>Không có thư mục %1</translation>
    </message>
    <message>
        <source>%1 is there already: choose another name, or tick that it is replaced</source>
        <translation>%1 đã có sẵn: hãy chọn tên khác, hoặc đánh dấu để thay tệp</translation>
    </message>
</context>
<context>
    <name>ulpscope::gui::RunDocument</name>
    <message>
        <source>No thread could be begun to read it: %1</source>
        <translation>Không bắt đầu được luồng để đọc nó: %1</translation>
    </message>
</context>
<context>
    <name>ulpscope::gui::RunLog</name>
    <message>
        <source>no run was started here</source>
        <translation>chưa có lần chạy nào bắt đầu từ đây</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>Dừng</translation>
    </message>
    <message>
        <source>Ends the run after its step, as Ctrl-C does; it can be gone on with</source>
        <translation>Kết thúc lần chạy sau bước này, như Ctrl-C; có thể chạy tiếp sau</translation>
    </message>
    <message>
        <source>What the run says</source>
        <translation>Lần chạy nói gì</translation>
    </message>
    <message>
        <source>running: %1</source>
        <translation>đang chạy: %1</translation>
    </message>
    <message>
        <source>finished</source>
        <translation>đã xong</translation>
    </message>
    <message>
        <source>stopped; Run → Resume goes on</source>
        <translation>đã dừng; Chạy → Tiếp tục để chạy tiếp</translation>
    </message>
    <message>
        <source>stopped before it began</source>
        <translation>đã dừng trước khi bắt đầu</translation>
    </message>
    <message>
        <source>ended with exit code %1</source>
        <translation>kết thúc với mã thoát %1</translation>
    </message>
    <message>
        <source>%1: step %2 of %3</source>
        <translation>%1: bước %2 trên %3</translation>
    </message>
    <message>
        <source>%1: step %2, of how many is unknown</source>
        <translation>%1: bước %2, không rõ trên bao nhiêu</translation>
    </message>
</context>
<context>
    <name>ulpscope::gui::RunProcess</name>
    <message>
        <source>A run is going on already; stop it first, or wait for its end</source>
        <translation>Đã có lần chạy đang diễn ra; hãy dừng nó trước, hoặc đợi nó kết thúc</translation>
    </message>
    <message>
        <source>The program ulpscope is neither beside the viewer nor in PATH</source>
        <translation>Chương trình ulpscope không nằm cạnh trình xem và cũng không có trong PATH</translation>
    </message>
    <message>
        <source>%1 could not be written: %2</source>
        <translation>Không ghi được %1: %2</translation>
    </message>
    <message>
        <source>%1 could not be read: %2</source>
        <translation>Không đọc được %1: %2</translation>
    </message>
</context>
<context>
    <name>ulpscope::gui::RunToggles</name>
    <message>
        <source>Modes</source>
        <translation>Chế độ</translation>
    </message>
    <message>
        <source>Seeds</source>
        <translation>Seed</translation>
    </message>
</context>
<context>
    <name>ulpscope::gui::RunsModel</name>
    <message>
        <source>loading</source>
        <translation>đang tải</translation>
    </message>
    <message>
        <source>live</source>
        <translation>đang ghi</translation>
    </message>
    <message>
        <source>finished</source>
        <translation>đã xong</translation>
    </message>
    <message>
        <source>cut off</source>
        <translation>bị ngắt</translation>
    </message>
    <message>
        <source>vanished</source>
        <translation>đã biến mất</translation>
    </message>
    <message>
        <source>cannot be read</source>
        <translation>không đọc được</translation>
    </message>
    <message>
        <source>%1 of %2</source>
        <comment>steps</comment>
        <translation>%1 trên %2</translation>
    </message>
    <message>
        <source>%1 on %2, device %3 (%4)</source>
        <translation>%1 trên %2, thiết bị %3 (%4)</translation>
    </message>
    <message>
        <source>Run</source>
        <translation>Lần chạy</translation>
    </message>
    <message>
        <source>Steps</source>
        <translation>Số bước</translation>
    </message>
    <message>
        <source>Status</source>
        <translation>Trạng thái</translation>
    </message>
</context>
<context>
    <name>ulpscope::gui::RunsView</name>
    <message>
        <source>Open files and their runs</source>
        <translation>Các tệp đang mở và lần chạy của chúng</translation>
    </message>
    <message>
        <source>Show only this run</source>
        <translation>Chỉ hiện lần chạy này</translation>
    </message>
    <message>
        <source>Show all runs</source>
        <translation>Hiện mọi lần chạy</translation>
    </message>
    <message>
        <source>Reload</source>
        <translation>Tải lại</translation>
    </message>
    <message>
        <source>Close file</source>
        <translation>Đóng tệp</translation>
    </message>
</context>
<context>
    <name>ulpscope::gui::ScaleModel</name>
    <message>
        <source>no scale suits</source>
        <translation>không giá trị nào phù hợp</translation>
    </message>
    <message>
        <source>up to %1</source>
        <translation>đến %1</translation>
    </message>
    <message>
        <source>from %1</source>
        <translation>từ %1</translation>
    </message>
    <message>
        <source>every scale</source>
        <translation>mọi giá trị</translation>
    </message>
    <message>
        <source>narrowest layers:</source>
        <translation>các lớp hẹp nhất:</translation>
    </message>
    <message>
        <source>%1, loss scaling %2</source>
        <translation>%1, cách nhân loss %2</translation>
    </message>
    <message>
        <source>in force in that step [%1]</source>
        <translation>có hiệu lực ở bước đó [%1]</translation>
    </message>
    <message>
        <source>events of a scale that changed [%1]</source>
        <translation>số lần loss scale thay đổi [%1]</translation>
    </message>
    <message>
        <source>steps whose gradients were not finite [%1]</source>
        <translation>các bước có gradient không hữu hạn [%1]</translation>
    </message>
    <message>
        <source>There is no scaled gradient of a narrow range, or none was observed.</source>
        <translation>Không có gradient đã nhân tỉ lệ với dải hẹp, hoặc không quan sát được.</translation>
    </message>
    <message>
        <source>loses most below the lowest scale: %1, step %2</source>
        <translation>mất nhiều nhất khi dưới giá trị nhỏ nhất: %1, bước %2</translation>
    </message>
    <message>
        <source>overflows first above the highest scale: %1, step %2</source>
        <translation>tràn đầu tiên khi trên giá trị lớn nhất: %1, bước %2</translation>
    </message>
    <message numerus="yes">
        <source>scales that suit the gradients of all layers in %n observed step(s) [%1]</source>
        <translation>
            <numerusform>các loss scale phù hợp với gradient của mọi lớp trong %n bước được quan sát [%1]</numerusform>
        </translation>
    </message>
    <message>
        <source>in the latest of them alone: %1; in force there: %2</source>
        <translation>chỉ riêng bước mới nhất: %1; có hiệu lực ở đó: %2</translation>
    </message>
    <message>
        <source>Run</source>
        <translation>Lần chạy</translation>
    </message>
    <message>
        <source>First scale</source>
        <translation>Giá trị đầu</translation>
    </message>
    <message>
        <source>Last scale</source>
        <translation>Giá trị cuối</translation>
    </message>
    <message>
        <source>Changes</source>
        <translation>Số lần đổi</translation>
    </message>
    <message>
        <source>Overflows</source>
        <translation>Tràn số</translation>
    </message>
    <message>
        <source>Window</source>
        <translation>Khoảng phù hợp</translation>
    </message>
    <message>
        <source>Decides below</source>
        <translation>Quyết định cận dưới</translation>
    </message>
    <message>
        <source>Decides above</source>
        <translation>Quyết định cận trên</translation>
    </message>
</context>
<context>
    <name>ulpscope::gui::TableView</name>
    <message>
        <source>Copy</source>
        <translation>Sao chép</translation>
    </message>
    <message>
        <source>Copy table</source>
        <translation>Sao chép bảng</translation>
    </message>
</context>
<context>
    <name>ulpscope::gui::TimelineChart</name>
    <message>
        <source>laid out</source>
        <translation>xếp theo thứ tự</translation>
    </message>
    <message>
        <source>as recorded</source>
        <translation>như đã ghi</translation>
    </message>
    <message>
        <source>and %1 more here: zoom in</source>
        <translation>và %1 nữa ở đây: hãy phóng to</translation>
    </message>
    <message>
        <source>Undo zoom</source>
        <translation>Hoàn tác thu phóng</translation>
    </message>
    <message>
        <source>Show everything</source>
        <translation>Hiện tất cả</translation>
    </message>
    <message>
        <source>Show the chosen span</source>
        <translation>Hiện đoạn đã chọn</translation>
    </message>
    <message>
        <source>Sum up what is in view</source>
        <translation>Tổng hợp phần đang nhìn thấy</translation>
    </message>
    <message>
        <source>Let go of the range</source>
        <translation>Bỏ chọn khoảng</translation>
    </message>
    <message>
        <source>Copy picture</source>
        <translation>Sao chép ảnh</translation>
    </message>
    <message>
        <source>Copy data (CSV)</source>
        <translation>Sao chép dữ liệu (CSV)</translation>
    </message>
    <message>
        <source>Save as…</source>
        <translation>Lưu thành…</translation>
    </message>
    <message>
        <source>Save chart</source>
        <translation>Lưu biểu đồ</translation>
    </message>
    <message>
        <source>nothing on record</source>
        <translation>không có gì được ghi</translation>
    </message>
</context>
<context>
    <name>ulpscope::gui::TimelineSumsModel</name>
    <message>
        <source>%1, of what lies within the range [%2]</source>
        <translation>%1, tính phần nằm trong khoảng [%2]</translation>
    </message>
    <message>
        <source>of the length of the range</source>
        <translation>của độ dài khoảng</translation>
    </message>
    <message>
        <source>name</source>
        <translation>tên</translation>
    </message>
    <message>
        <source>count</source>
        <translation>số lần</translation>
    </message>
    <message>
        <source>time</source>
        <translation>thời gian</translation>
    </message>
    <message>
        <source>mean</source>
        <translation>trung bình</translation>
    </message>
    <message>
        <source>longest</source>
        <translation>dài nhất</translation>
    </message>
    <message>
        <source>share</source>
        <translation>tỉ lệ</translation>
    </message>
</context>
<context>
    <name>words</name>
    <message>
        <source>verdict</source>
        <translation>kết luận</translation>
    </message>
    <message>
        <source>measured</source>
        <translation>đo được</translation>
    </message>
    <message>
        <source>counted</source>
        <translation>đếm được</translation>
    </message>
    <message>
        <source>computed</source>
        <translation>tính được</translation>
    </message>
    <message>
        <source>recomputed</source>
        <translation>tính lại</translation>
    </message>
    <message>
        <source>inferred</source>
        <translation>suy ra</translation>
    </message>
    <message>
        <source>emulated</source>
        <translation>giả lập</translation>
    </message>
    <message>
        <source>projected</source>
        <translation>dự phóng</translation>
    </message>
    <message>
        <source>unknown</source>
        <translation>không rõ</translation>
    </message>
    <message>
        <source>running</source>
        <translation>đang chạy</translation>
    </message>
    <message>
        <source>finished</source>
        <translation>đã xong</translation>
    </message>
    <message>
        <source>interrupted</source>
        <translation>bị dừng</translation>
    </message>
    <message>
        <source>failed</source>
        <translation>thất bại</translation>
    </message>
    <message>
        <source>reference</source>
        <translation>mốc so sánh</translation>
    </message>
    <message>
        <source>inside</source>
        <translation>trong giới hạn</translation>
    </message>
    <message>
        <source>better</source>
        <translation>tốt hơn</translation>
    </message>
    <message>
        <source>worse</source>
        <translation>kém hơn</translation>
    </message>
    <message>
        <source>undecided</source>
        <translation>chưa thể kết luận</translation>
    </message>
    <message>
        <source>forward</source>
        <translation>lượt xuôi</translation>
    </message>
    <message>
        <source>backward</source>
        <translation>lượt ngược</translation>
    </message>
    <message>
        <source>update</source>
        <translation>cập nhật</translation>
    </message>
    <message>
        <source>input</source>
        <translation>đầu vào</translation>
    </message>
    <message>
        <source>activation</source>
        <translation>giá trị kích hoạt</translation>
    </message>
    <message>
        <source>weight</source>
        <translation>trọng số</translation>
    </message>
    <message>
        <source>master weight</source>
        <translation>trọng số gốc</translation>
    </message>
    <message>
        <source>gradient</source>
        <translation>gradient</translation>
    </message>
    <message>
        <source>optimizer state</source>
        <translation>trạng thái bộ tối ưu</translation>
    </message>
    <message>
        <source>buffer</source>
        <translation>vùng đệm</translation>
    </message>
    <message>
        <source>internal</source>
        <translation>nội bộ</translation>
    </message>
    <message>
        <source>weights</source>
        <translation>trọng số</translation>
    </message>
    <message>
        <source>master weights</source>
        <translation>trọng số gốc</translation>
    </message>
    <message>
        <source>gradients</source>
        <translation>gradient</translation>
    </message>
    <message>
        <source>activations</source>
        <translation>giá trị kích hoạt</translation>
    </message>
    <message>
        <source>casts</source>
        <translation>bản chuyển kiểu</translation>
    </message>
    <message>
        <source>workspace</source>
        <translation>vùng làm việc</translation>
    </message>
    <message>
        <source>inputs</source>
        <translation>đầu vào</translation>
    </message>
    <message>
        <source>gaps</source>
        <translation>khoảng trống</translation>
    </message>
    <message>
        <source>observation</source>
        <translation>quan sát</translation>
    </message>
    <message>
        <source>buffers</source>
        <translation>vùng đệm</translation>
    </message>
    <message>
        <source>fatal</source>
        <translation>nghiêm trọng</translation>
    </message>
    <message>
        <source>damage</source>
        <translation>gây hại</translation>
    </message>
    <message>
        <source>contained</source>
        <translation>đã khống chế</translation>
    </message>
    <message>
        <source>normal</source>
        <translation>bình thường</translation>
    </message>
    <message>
        <source>note</source>
        <translation>ghi chú</translation>
    </message>
    <message>
        <source>activation too large</source>
        <translation>giá trị kích hoạt quá lớn</translation>
    </message>
    <message>
        <source>activation below range</source>
        <translation>giá trị kích hoạt dưới dải</translation>
    </message>
    <message>
        <source>weight too large</source>
        <translation>trọng số quá lớn</translation>
    </message>
    <message>
        <source>gradient too large for scale</source>
        <translation>gradient quá lớn so với loss scale</translation>
    </message>
    <message>
        <source>gradient below range</source>
        <translation>gradient dưới dải</translation>
    </message>
    <message>
        <source>update lost</source>
        <translation>cập nhật bị mất</translation>
    </message>
    <message>
        <source>weight decay lost</source>
        <translation>weight decay bị mất</translation>
    </message>
    <message>
        <source>epsilon vanished</source>
        <translation>epsilon biến mất</translation>
    </message>
    <message>
        <source>second moment below range</source>
        <translation>mô-men bậc hai dưới dải</translation>
    </message>
    <message>
        <source>beta vanished</source>
        <translation>beta biến mất</translation>
    </message>
    <message>
        <source>zero divisor</source>
        <translation>số chia bằng 0</translation>
    </message>
    <message>
        <source>mask constant out of range</source>
        <translation>hằng số mặt nạ ngoài dải</translation>
    </message>
    <message>
        <source>mask sum</source>
        <translation>tổng của mặt nạ</translation>
    </message>
    <message>
        <source>reduction too long</source>
        <translation>phép rút gọn quá dài</translation>
    </message>
    <message>
        <source>divisor overflowed</source>
        <translation>số chia bị tràn</translation>
    </message>
    <message>
        <source>norm overflowed</source>
        <translation>chuẩn bị tràn</translation>
    </message>
    <message>
        <source>clip overflowed</source>
        <translation>phép cắt bị tràn</translation>
    </message>
    <message>
        <source>clip before unscale</source>
        <translation>cắt trước khi bỏ tỉ lệ</translation>
    </message>
    <message>
        <source>unscale overflowed</source>
        <translation>bỏ tỉ lệ bị tràn</translation>
    </message>
    <message>
        <source>unscaled early</source>
        <translation>bỏ tỉ lệ quá sớm</translation>
    </message>
    <message>
        <source>update overflowed</source>
        <translation>cập nhật bị tràn</translation>
    </message>
    <message>
        <source>sum stuck</source>
        <translation>tổng bị kẹt</translation>
    </message>
    <message>
        <source>no gradient</source>
        <translation>không có gradient</translation>
    </message>
    <message>
        <source>buffers poisoned</source>
        <translation>vùng đệm bị nhiễm hỏng</translation>
    </message>
    <message>
        <source>weights poisoned</source>
        <translation>trọng số bị nhiễm hỏng</translation>
    </message>
    <message>
        <source>data not finite</source>
        <translation>dữ liệu không hữu hạn</translation>
    </message>
    <message>
        <source>scale unbounded</source>
        <translation>loss scale không có giới hạn</translation>
    </message>
    <message>
        <source>scale floor</source>
        <translation>loss scale chạm đáy</translation>
    </message>
    <message>
        <source>schedule ahead</source>
        <translation>lịch chạy trước</translation>
    </message>
    <message>
        <source>exact zero loss</source>
        <translation>loss đúng bằng 0</translation>
    </message>
    <message>
        <source>no master weights</source>
        <translation>không có trọng số gốc</translation>
    </message>
    <message>
        <source>device fault</source>
        <translation>lỗi thiết bị</translation>
    </message>
    <message>
        <source>a result of the forward pass, or what the backward pass makes of it alone, does not fit its format</source>
        <translation>một kết quả của lượt xuôi, hoặc thứ mà lượt ngược tính chỉ từ nó, không vừa với định dạng của nó</translation>
    </message>
    <message>
        <source>a result of the forward pass is rounded to zero, and that matters</source>
        <translation>một kết quả của lượt xuôi bị làm tròn về 0, và điều đó có ảnh hưởng</translation>
    </message>
    <message>
        <source>a weight does not fit the format it is cast to</source>
        <translation>một trọng số không vừa với định dạng mà nó được chuyển sang</translation>
    </message>
    <message>
        <source>a scaled gradient does not fit its format</source>
        <translation>một gradient đã nhân tỉ lệ không vừa với định dạng của nó</translation>
    </message>
    <message>
        <source>gradients are rounded to zero</source>
        <translation>gradient bị làm tròn về 0</translation>
    </message>
    <message>
        <source>updates are too small to change the weights they are added to</source>
        <translation>các cập nhật quá nhỏ để thay đổi trọng số mà chúng được cộng vào</translation>
    </message>
    <message>
        <source>lr x weight decay is less than half an ulp: nothing decays</source>
        <translation>tốc độ học × weight decay nhỏ hơn nửa ulp: không gì suy giảm</translation>
    </message>
    <message>
        <source>an epsilon is 0 in the format it is kept in</source>
        <translation>một epsilon bằng 0 trong định dạng lưu nó</translation>
    </message>
    <message>
        <source>Adam&apos;s second moment is rounded to zero: epsilon alone divides the update</source>
        <translation>mô-men bậc hai của Adam bị làm tròn về 0: chỉ còn epsilon chia cập nhật</translation>
    </message>
    <message>
        <source>a beta is 1 or 0 in the format it is kept in</source>
        <translation>một beta bằng 1 hoặc 0 trong định dạng lưu nó</translation>
    </message>
    <message>
        <source>a division by zero, or a logarithm or the slope of a root at zero</source>
        <translation>phép chia cho 0, hoặc logarit hay độ dốc của căn tại 0</translation>
    </message>
    <message>
        <source>a mask constant is infinite in its format</source>
        <translation>một hằng số mặt nạ là vô hạn trong định dạng của nó</translation>
    </message>
    <message>
        <source>a finite mask and a score add up to -inf, or to the mask alone</source>
        <translation>một mặt nạ hữu hạn và một điểm số cộng lại thành -inf, hoặc chỉ còn lại mặt nạ</translation>
    </message>
    <message>
        <source>a sum over many elements leaves the format; each of them fits</source>
        <translation>tổng của nhiều phần tử vượt khỏi định dạng; từng phần tử thì vừa</translation>
    </message>
    <message>
        <source>the count that a sum is divided by is infinite: the mean is 0</source>
        <translation>số lượng dùng để chia tổng là vô hạn: trung bình bằng 0</translation>
    </message>
    <message>
        <source>squares inside a norm overflow; its result is silently zero</source>
        <translation>các bình phương bên trong một chuẩn bị tràn; kết quả lặng lẽ bằng 0</translation>
    </message>
    <message>
        <source>the global norm overflows; clipping erases healthy gradients</source>
        <translation>chuẩn toàn cục bị tràn; phép cắt xóa mất gradient lành mạnh</translation>
    </message>
    <message>
        <source>clipping sees gradients that are still scaled</source>
        <translation>phép cắt thấy các gradient còn đang nhân tỉ lệ</translation>
    </message>
    <message>
        <source>the division by the loss scale overflows</source>
        <translation>phép chia cho loss scale bị tràn</translation>
    </message>
    <message>
        <source>one of several micro-batches is unscaled before it is added</source>
        <translation>một trong các micro-batch bị bỏ tỉ lệ trước khi cộng vào</translation>
    </message>
    <message>
        <source>the optimizer&apos;s own numbers leave the range</source>
        <translation>các số của chính bộ tối ưu vượt khỏi dải</translation>
    </message>
    <message>
        <source>a running sum swallows its addends</source>
        <translation>tổng tích lũy nuốt mất các số hạng</translation>
    </message>
    <message>
        <source>parameters get no gradient</source>
        <translation>các tham số không nhận được gradient</translation>
    </message>
    <message>
        <source>running statistics are not finite and stay so</source>
        <translation>các thống kê tích lũy không hữu hạn và vẫn như vậy</translation>
    </message>
    <message>
        <source>weights are not finite before the step begins</source>
        <translation>trọng số không hữu hạn trước khi bước bắt đầu</translation>
    </message>
    <message>
        <source>the batch, a constant or an injected number is not finite</source>
        <translation>batch, một hằng số hoặc một số được chèn vào không hữu hạn</translation>
    </message>
    <message>
        <source>the loss scale grows without use or end</source>
        <translation>loss scale tăng mãi mà vô ích</translation>
    </message>
    <message>
        <source>the loss scale is at its floor and gradients still overflow</source>
        <translation>loss scale đã chạm đáy mà gradient vẫn tràn</translation>
    </message>
    <message>
        <source>skipped steps moved the learning rate</source>
        <translation>các bước bị bỏ qua vẫn làm đổi tốc độ học</translation>
    </message>
    <message>
        <source>the loss is exactly 0</source>
        <translation>loss đúng bằng 0</translation>
    </message>
    <message>
        <source>weights are kept in 16 bits alone: not mixed precision</source>
        <translation>trọng số chỉ được giữ ở 16 bit: không phải độ chính xác hỗn hợp</translation>
    </message>
    <message>
        <source>the same step computed again gives other bits</source>
        <translation>tính lại chính bước đó cho ra các bit khác</translation>
    </message>
    <message>
        <source>what is recorded does not tell the cause</source>
        <translation>những gì được ghi không cho biết nguyên nhân</translation>
    </message>
    <message>
        <source>dropped</source>
        <translation>bản ghi bị rơi</translation>
    </message>
    <message>
        <source>lost</source>
        <translation>bản ghi bị mất</translation>
    </message>
    <message>
        <source>fault</source>
        <translation>lỗi</translation>
    </message>
    <message>
        <source>throttled</source>
        <translation>bị giảm tải</translation>
    </message>
    <message>
        <source>refused</source>
        <translation>bị từ chối</translation>
    </message>
    <message>
        <source>timing</source>
        <translation>đo thời gian</translation>
    </message>
    <message>
        <source>training</source>
        <translation>huấn luyện</translation>
    </message>
    <message>
        <source>seeds</source>
        <translation>số seed</translation>
    </message>
    <message>
        <source>steps</source>
        <translation>số bước</translation>
    </message>
    <message>
        <source>final loss</source>
        <translation>loss cuối</translation>
    </message>
    <message>
        <source>loss</source>
        <translation>loss</translation>
    </message>
    <message>
        <source>best loss</source>
        <translation>loss tốt nhất</translation>
    </message>
    <message>
        <source>held-out loss</source>
        <translation>loss trên tập kiểm định</translation>
    </message>
    <message>
        <source>distance from fp32</source>
        <translation>khoảng cách với fp32</translation>
    </message>
    <message>
        <source>from plain sums</source>
        <translation>so với tổng thường</translation>
    </message>
    <message>
        <source>steps applied</source>
        <translation>số bước áp dụng</translation>
    </message>
    <message>
        <source>steps skipped</source>
        <translation>số bước bỏ qua</translation>
    </message>
    <message>
        <source>overflows</source>
        <translation>số lần tràn</translation>
    </message>
    <message>
        <source>loss scale, first</source>
        <translation>loss scale, đầu</translation>
    </message>
    <message>
        <source>loss scale, range</source>
        <translation>loss scale, khoảng</translation>
    </message>
    <message>
        <source>loss scale, last</source>
        <translation>loss scale, cuối</translation>
    </message>
    <message>
        <source>step time</source>
        <translation>thời gian một bước</translation>
    </message>
    <message>
        <source>time</source>
        <translation>thời gian</translation>
    </message>
    <message>
        <source>tokens/s</source>
        <translation>token/giây</translation>
    </message>
    <message>
        <source>× fp32&apos;s speed</source>
        <translation>× tốc độ của fp32</translation>
    </message>
    <message>
        <source>peak</source>
        <translation>đỉnh</translation>
    </message>
    <message>
        <source>memory</source>
        <translation>bộ nhớ</translation>
    </message>
    <message>
        <source>× fp32&apos;s peak</source>
        <translation>× đỉnh của fp32</translation>
    </message>
    <message>
        <source>peak by category</source>
        <translation>đỉnh theo loại</translation>
    </message>
    <message>
        <source>runs the figures are over</source>
        <translation>số lần chạy mà các con số tính trên đó</translation>
    </message>
    <message>
        <source>mean over the last 10 recorded steps whose loss is finite, NaN if a run ended in numbers that are not; mean and standard deviation over seeds</source>
        <translation>trung bình 10 bước được ghi cuối cùng có loss hữu hạn, NaN nếu một lần chạy kết thúc bằng số không hữu hạn; trung bình và độ lệch chuẩn trên các seed</translation>
    </message>
    <message>
        <source>least training loss of a step; mean and standard deviation over seeds</source>
        <translation>loss huấn luyện nhỏ nhất của một bước; trung bình và độ lệch chuẩn trên các seed</translation>
    </message>
    <message>
        <source>last evaluation; mean and standard deviation over seeds</source>
        <translation>lần đánh giá cuối; trung bình và độ lệch chuẩn trên các seed</translation>
    </message>
    <message>
        <source>mean difference paired by seed, its 95 % interval, and the standard deviation between fp32 seeds</source>
        <translation>trung bình chênh lệch ghép theo seed, khoảng 95 % của nó, và độ lệch chuẩn giữa các seed fp32</translation>
    </message>
    <message>
        <source>emulated sums: mean difference from the same mode with plain sums, paired by seed, its 95 % interval, and the standard deviation between fp32 seeds</source>
        <translation>tổng giả lập: trung bình chênh lệch so với cùng chế độ dùng tổng thường, ghép theo seed, khoảng 95 % của nó, và độ lệch chuẩn giữa các seed fp32</translation>
    </message>
    <message>
        <source>all seeds together</source>
        <translation>mọi seed gộp lại</translation>
    </message>
    <message>
        <source>steps with a gradient that was not finite, all seeds together</source>
        <translation>các bước có gradient không hữu hạn, mọi seed gộp lại</translation>
    </message>
    <message>
        <source>of the first step</source>
        <translation>của bước đầu tiên</translation>
    </message>
    <message>
        <source>least and greatest of all steps and seeds</source>
        <translation>nhỏ nhất và lớn nhất trong mọi bước và seed</translation>
    </message>
    <message>
        <source>of the last step; a range if seeds differ</source>
        <translation>của bước cuối; là một khoảng nếu các seed khác nhau</translation>
    </message>
    <message>
        <source>median and quartiles of the timing phase, in which one seed is timed</source>
        <translation>trung vị và các tứ phân vị của pha đo thời gian, trong đó đo một seed</translation>
    </message>
    <message>
        <source>tokens of a step by its median time</source>
        <translation>số token của một bước chia cho thời gian trung vị</translation>
    </message>
    <message>
        <source>fp32&apos;s median step time by this mode&apos;s</source>
        <translation>thời gian bước trung vị của fp32 chia cho của chế độ này</translation>
    </message>
    <message>
        <source>the allocator&apos;s peak, without what was held to observe; greatest of the seeds</source>
        <translation>đỉnh của bộ cấp phát, không tính phần giữ để quan sát; lớn nhất trong các seed</translation>
    </message>
    <message>
        <source>peak by fp32&apos;s peak</source>
        <translation>đỉnh chia cho đỉnh của fp32</translation>
    </message>
    <message>
        <source>at the peak</source>
        <translation>ở mức đỉnh</translation>
    </message>
    <message>
        <source>batch, constants, scalars of the step</source>
        <translation>batch, hằng số, các vô hướng của bước</translation>
    </message>
    <message>
        <source>alignment and placement, at the peak</source>
        <translation>căn chỉnh và sắp đặt, ở mức đỉnh</translation>
    </message>
    <message>
        <source>running statistics and their committed values</source>
        <translation>các thống kê tích lũy và giá trị đã chốt của chúng</translation>
    </message>
    <message>
        <source>step</source>
        <translation>bước</translation>
    </message>
    <message>
        <source>to first</source>
        <translation>so với máy đầu</translation>
    </message>
    <message>
        <source>step × peak</source>
        <translation>bước × đỉnh</translation>
    </message>
    <message>
        <source>step × bandwidth</source>
        <translation>bước × băng thông</translation>
    </message>
    <message>
        <source>step × clock</source>
        <translation>bước × xung nhịp</translation>
    </message>
    <message>
        <source>device busy</source>
        <translation>thiết bị bận</translation>
    </message>
    <message>
        <source>clock held down</source>
        <translation>xung nhịp bị hạ</translation>
    </message>
    <message>
        <source>peak memory</source>
        <translation>bộ nhớ đỉnh</translation>
    </message>
    <message>
        <source>final loss − first</source>
        <translation>loss cuối − máy đầu</translation>
    </message>
    <message>
        <source>median and quartiles</source>
        <translation>trung vị và các tứ phân vị</translation>
    </message>
    <message>
        <source>step by the first machine&apos;s</source>
        <translation>bước chia cho bước của máy đầu</translation>
    </message>
    <message>
        <source>what the machine could have computed in that time at the peak of the mode&apos;s products</source>
        <translation>lượng máy có thể tính trong thời gian đó ở đỉnh phép nhân của chế độ</translation>
    </message>
    <message>
        <source>that by the first machine&apos;s</source>
        <translation>giá trị đó chia cho của máy đầu</translation>
    </message>
    <message>
        <source>what it could have moved</source>
        <translation>lượng dữ liệu nó có thể chuyển</translation>
    </message>
    <message>
        <source>cycles of its clock</source>
        <translation>số chu kỳ xung nhịp của nó</translation>
    </message>
    <message>
        <source>those by the first machine&apos;s</source>
        <translation>số đó chia cho của máy đầu</translation>
    </message>
    <message>
        <source>share of the step with a kernel at work, in traced steps</source>
        <translation>phần của bước có kernel đang làm việc, trong các bước được theo dõi</translation>
    </message>
    <message>
        <source>share of the GPU&apos;s samples while it was timed</source>
        <translation>tỉ lệ mẫu của GPU trong khi đo thời gian</translation>
    </message>
    <message>
        <source>the allocator&apos;s peak, without what was held to observe</source>
        <translation>đỉnh của bộ cấp phát, không tính phần giữ để quan sát</translation>
    </message>
    <message>
        <source>mean over the seeds that both machines finished, with its 95 % interval</source>
        <translation>trung bình trên các seed mà cả hai máy đã hoàn thành, với khoảng 95 % của nó</translation>
    </message>
    <message>
        <source>matrix products</source>
        <translation>phép nhân ma trận</translation>
    </message>
    <message>
        <source>attention</source>
        <translation>attention</translation>
    </message>
    <message>
        <source>convolution</source>
        <translation>tích chập</translation>
    </message>
    <message>
        <source>normalisation</source>
        <translation>chuẩn hóa</translation>
    </message>
    <message>
        <source>softmax, loss</source>
        <translation>softmax, loss</translation>
    </message>
    <message>
        <source>element-wise</source>
        <translation>theo từng phần tử</translation>
    </message>
    <message>
        <source>reductions</source>
        <translation>phép rút gọn</translation>
    </message>
    <message>
        <source>embedding</source>
        <translation>phép nhúng</translation>
    </message>
    <message>
        <source>unscale and check</source>
        <translation>bỏ tỉ lệ và kiểm tra</translation>
    </message>
    <message>
        <source>optimizer</source>
        <translation>bộ tối ưu</translation>
    </message>
    <message>
        <source>copies</source>
        <translation>sao chép</translation>
    </message>
    <message>
        <source>other</source>
        <translation>khác</translation>
    </message>
    <message>
        <source>of no known node</source>
        <translation>không rõ nút nào</translation>
    </message>
    <message>
        <source>outside domain</source>
        <translation>ngoài miền xác định</translation>
    </message>
    <message>
        <source>the root or the logarithm of a negative number: NaN from finite inputs</source>
        <translation>căn hoặc logarit của số âm: NaN từ đầu vào hữu hạn</translation>
    </message>
    <message>
        <source>divergence</source>
        <translation>phân kỳ</translation>
    </message>
    <message>
        <source>the loss runs away, and nothing of the precision is known to be behind it</source>
        <translation>hàm mất mát tăng vọt, và không thấy độ chính xác số là nguyên nhân</translation>
    </message>
    <message>
        <source>variance lost</source>
        <translation>mất phương sai</translation>
    </message>
    <message>
        <source>held out not finite</source>
        <translation>loss kiểm định không hữu hạn</translation>
    </message>
    <message>
        <source>a norm reads numbers so far from 0 that rounding them takes their variance away</source>
        <translation>một chuẩn đọc các số xa 0 đến mức làm tròn chúng làm mất phương sai</translation>
    </message>
    <message>
        <source>the held-out loss is not finite, though the training loss is</source>
        <translation>loss trên tập kiểm định không hữu hạn, dù loss huấn luyện hữu hạn</translation>
    </message>
</context>
</TS>
